"""Which moves a part may make, and how a run sums up."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.rules.delivering import (
    MOVES,
    Ending,
    PartState,
    RunStatus,
    TargetState,
    WhenUnknown,
    after_crash,
    is_at_capacity,
    next_part,
    sum_up,
    target_state,
)
from tidegate.rules.window import Window

WINDOW = Window(6, 18, ZoneInfo("Asia/Kuala_Lumpur"))

states = st.sampled_from(PartState)
targets = st.lists(states, min_size=1, max_size=5)
tallies = st.dictionaries(st.sampled_from(TargetState), st.integers(0, 1_000), min_size=1).map(Counter)


def test_every_state_has_its_moves_and_ends_stay_ends():
    """What is sent, failed or skipped moves no more: nothing is ever sent twice by a change of mind."""
    assert set(MOVES) == set(PartState)
    assert not MOVES[PartState.SENT] | MOVES[PartState.FAILED] | MOVES[PartState.SKIPPED]


@given(parts=targets)
def test_a_target_is_sent_only_when_all_its_parts_are(parts):
    """Counts are targets: one part short is not delivered."""
    assert (target_state(parts) is TargetState.SENT) == (set(parts) == {PartState.SENT})


@given(parts=targets)
def test_parts_go_out_in_order(parts):
    """Only a part whose predecessors have all arrived may be claimed, and it must be pending."""
    place = next_part(parts)
    if place is None:
        first = next((state for state in parts if state is not PartState.SENT), None)
        assert first is not PartState.PENDING
    else:
        assert parts[place] is PartState.PENDING
        assert all(state is PartState.SENT for state in parts[:place])


def _in_flight(parts):
    return parts.index(PartState.SENDING) if PartState.SENDING in parts else None


@given(parts=st.lists(st.just(PartState.PENDING), min_size=1, max_size=4), data=st.data())
def test_any_walk_through_the_moves_ends_with_parts_in_order(parts, data):
    """Random legal moves, claiming only what may be claimed: no part arrives before the one in front of it."""
    arrived = []
    for _ in range(30):
        moving = [place for place, state in enumerate(parts) if MOVES[state]]
        if not moving:
            break
        place = data.draw(st.sampled_from(moving))
        to = data.draw(st.sampled_from(sorted(MOVES[parts[place]])))
        if to in (PartState.SENDING, PartState.UNKNOWN) and place not in (next_part(parts), _in_flight(parts)):
            continue
        parts[place] = to
        if to is PartState.SENT:
            arrived.append(place)
    assert arrived == sorted(arrived)
    assert len(arrived) == len(set(arrived))


def test_an_unknown_part_holds_back_the_later_ones():
    """D-23: the rest of that target waits, because its order would be lost."""
    assert next_part([PartState.UNKNOWN, PartState.PENDING]) is None
    assert target_state([PartState.UNKNOWN, PartState.PENDING]) is TargetState.UNKNOWN


@pytest.mark.parametrize(
    ("policy", "state"),
    [
        (WhenUnknown.HOLD, None),
        (WhenUnknown.ASSUME_SENT, PartState.SENT),
        (WhenUnknown.RESEND, PartState.PENDING),
    ],
)
def test_the_operators_policy_settles_what_is_unknown(policy, state):
    """Hold waits for a receipt or a person; the other two are the operator's own risk."""
    assert policy.settles_as is state


@pytest.mark.parametrize(
    ("dedupes", "window", "ago", "state"),
    [
        (True, None, timedelta(days=2), PartState.PENDING),
        (True, timedelta(minutes=2), timedelta(seconds=30), PartState.PENDING),
        (True, timedelta(minutes=2), timedelta(minutes=10), PartState.UNKNOWN),
        (True, timedelta(minutes=2), timedelta(seconds=-5), PartState.UNKNOWN),
        (False, None, timedelta(seconds=1), PartState.UNKNOWN),
    ],
)
def test_after_a_crash_only_what_is_harmless_is_resent(dedupes, window, ago, state):
    """D-20, D-21, D-24: Telegram always, Discord while its nonce holds, WhatsApp never."""
    assert after_crash(removes_duplicates=dedupes, for_how_long=window, claimed_ago=ago) is state


# How a run sums up


def test_the_sentence_is_the_seeds_when_the_pace_was_to_blame():
    """Operators know these words; they stay as they were."""
    counts = Counter({TargetState.SENT: 412, TargetState.SKIPPED: 588})
    summary = sum_up(counts, Ending.WINDOW_CLOSED, WINDOW, at_capacity=True)
    assert summary.status is RunStatus.PARTIAL
    assert summary.sentence == (
        "Delivery window closed at 18:00 (Asia/Kuala_Lumpur). 412 of 1000 groups delivered. This account is at "
        "capacity for this fan-out — consider sending the remainder from another paired account."
    )


def test_another_cause_gets_its_own_sentence():
    """Who paused the run all afternoon is not told that the account is at capacity."""
    counts = Counter({TargetState.SENT: 412, TargetState.SKIPPED: 588})
    told = sum_up(counts, Ending.WINDOW_CLOSED, WINDOW, cause="The run was paused for 3 hours of it.").sentence
    assert told.endswith("412 of 1000 groups delivered. The run was paused for 3 hours of it.")
    assert "capacity" not in told


@given(counts=tallies, ending=st.sampled_from(Ending))
def test_the_status_says_what_arrived(counts, ending):
    """Success only when every target has it all; failed when none has; a cancelled run says so whatever arrived."""
    status = sum_up(counts, ending, WINDOW).status
    sent, total = counts[TargetState.SENT], counts.total()
    if ending is Ending.CANCELLED:
        assert status is RunStatus.CANCELLED
    else:
        assert (status is RunStatus.SUCCESS) == (sent == total)
        assert (status is RunStatus.FAILED) == (sent == 0 and total > 0)


def test_capacity_is_the_cause_only_for_a_run_that_was_busy_all_the_time():
    """A run that stood still for half of its window was short of something else."""
    assert is_at_capacity(412, 420)
    assert not is_at_capacity(200, 420)
    assert not is_at_capacity(0, 0)
