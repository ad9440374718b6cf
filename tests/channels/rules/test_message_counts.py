"""Counters of platforms compared with the rows: a loss is noticed, and a wrong counter not asked about for ever."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.channels.rules.message_counts import (
    LONGEST_PAUSE,
    READ_AGAIN_UP_TO,
    Changes,
    Count,
    MessageCounter,
    RecountStep,
    is_cut_short,
    next_step,
    pause_after,
)

numbers = st.integers(0, 5_000)
some = st.integers(1, 50)


@given(counter=st.sampled_from(MessageCounter), there=numbers, lost=some)
def test_a_lost_row_is_never_taken_for_agreement(counter: MessageCounter, there: int, lost: int) -> None:
    """Where the two agreed before, any row that did not come makes each counter ask for the newest page."""
    count = Count(counter, there + lost, stored=there, usual=0)
    assert next_step(count, waits=False) is RecountStep.ASK_NEWEST


@given(counter=st.sampled_from(MessageCounter), there=numbers, usual=st.integers(0, 50), deleted=st.integers(0, 50))
def test_the_usual_difference_agrees_also_after_deletions(
    counter: MessageCounter, there: int, usual: int, deleted: int
) -> None:
    """What was deleted after a count was reported may still be in it, and makes nobody ask."""
    stored = there if counter is MessageCounter.POSTED else there - min(deleted, there)
    since = 0 if counter is MessageCounter.POSTED else there - stored
    count = Count(counter, there + usual, stored=stored, deleted_since=since, usual=usual)
    assert next_step(count, waits=False) is RecountStep.AGREED
    assert 0 <= count.usual_when_agreed <= usual


@given(there=numbers, unknown=some)
def test_fewer_than_are_stored_is_a_deletion_for_what_is_there_now_alone(there: int, unknown: int) -> None:
    """What was ever posted contains deleted rows, and an index may leave something out."""
    steps = {
        counter: next_step(Count(counter, there, stored=there + unknown, usual=0), waits=False)
        for counter in MessageCounter
    }
    assert steps == {
        MessageCounter.MESSAGES: RecountStep.ASK_NEWEST,
        MessageCounter.POSTED: RecountStep.AGREED,
        MessageCounter.DOCUMENTS: RecountStep.AGREED,
    }


@given(counter=st.sampled_from(MessageCounter), reported=st.none() | numbers, stored=numbers, usual=st.none() | numbers)
def test_a_counter_that_never_agrees_is_asked_about_twice_at_most(
    counter: MessageCounter, reported: int | None, stored: int, usual: int | None
) -> None:
    """Asked about so often, it is accepted; while it waits, nothing is asked."""
    for asked in range(5):
        count = Count(counter, reported, stored=stored, usual=usual, asked=asked)
        assert next_step(count, waits=True) in (RecountStep.AGREED, RecountStep.WAIT)
        if asked >= 2:
            assert next_step(count, waits=False) in (RecountStep.AGREED, RecountStep.ACCEPT)


@pytest.mark.parametrize(
    ("counter", "reported", "step"),
    [
        (MessageCounter.MESSAGES, READ_AGAIN_UP_TO, RecountStep.ASK_ALL),
        (MessageCounter.MESSAGES, READ_AGAIN_UP_TO + 1, RecountStep.ACCEPT),
        (MessageCounter.DOCUMENTS, READ_AGAIN_UP_TO, RecountStep.ASK_ALL),
        (MessageCounter.POSTED, 10, RecountStep.ACCEPT),
        (MessageCounter.DOCUMENTS, None, RecountStep.ACCEPT),
    ],
)
def test_only_a_stretch_that_is_not_too_long_is_read_again(
    counter: MessageCounter, reported: int | None, step: RecountStep
) -> None:
    """After the newest page: all of it where that is cheap, and where more can be found than came and went."""
    assert next_step(Count(counter, reported, stored=1, usual=0, asked=1), waits=False) is step


def test_a_search_that_began_higher_may_count_all_documents() -> None:
    """Nobody documents which of the two Telegram counts: either is no reason to ask, a third is."""
    for reported, step in [
        (5, RecountStep.AGREED),
        (40, RecountStep.AGREED),
        (6, RecountStep.ASK_NEWEST),
        (41, RecountStep.ASK_NEWEST),
    ]:
        assert next_step(Count(MessageCounter.DOCUMENTS, reported, stored=5, everywhere=40), waits=False) is step


@given(misses=st.integers(1, 1_000))
def test_pauses_grow_and_end_at_the_longest(misses: int) -> None:
    """Twice as long each time, from an hour on."""
    assert pause_after(1) == timedelta(hours=1)
    assert pause_after(misses + 1) == min(2 * pause_after(misses), LONGEST_PAUSE)


@given(oldest=st.integers(2, 100), reported=numbers, stored=numbers)
def test_a_page_is_cut_short_where_the_count_is_higher(oldest: int, reported: int, stored: int) -> None:
    """Below message 1 there is nothing, whatever is counted."""
    assert is_cut_short(oldest=oldest, reported=reported, stored=stored) == (reported > stored)
    assert not is_cut_short(oldest=1, reported=reported, stored=stored)


# Telegram's counter of changes


@given(
    fates=st.lists(st.sampled_from(["came", "lost", "came and went"]), min_size=1, max_size=60), seen=st.integers(0, 9)
)
def test_a_loss_in_a_difference_is_noticed_and_what_came_and_went_is_not(fates: list[str], seen: int) -> None:
    """Whatever happened between, one lost message is among the numbers that are asked for, the last one excepted."""
    fates = [*fates, "came"]
    ids = dict(enumerate(fates, start=seen + 1))
    posted = [number for number, fate in ids.items() if fate == "came"]
    lost = [number for number, fate in ids.items() if fate == "lost"]
    moved = sum(2 if fate == "came and went" else 1 for fate in fates)
    reported = Changes(seen, 1).with_answer(posted, [], 1 + moved, len(posted))
    assert set(reported.lost(most=100)) >= set(lost)
    assert bool(reported.lost(most=100)) == bool(lost)


def test_answers_add_up_and_deletions_are_no_holes() -> None:
    """A difference in two parts is judged as one, and a number that is reported as deleted is explained."""
    reported = Changes(10, 100).with_answer([11, 12], [], 102, 2).with_answer([14, 16], [13], 105, 3)
    assert reported.lost(most=100) == []
    assert reported.with_answer([], [], 106, 0).lost(most=100) == [15]
