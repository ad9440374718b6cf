"""live-never-closes-a-gap: live news moves the counter only where the platform's own sequence is unbroken."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from tidegate.history.rules.live_sequence import SequenceOrder, SequenceStep, follow, order_of

KNOWN = 100
sizes = st.lists(st.integers(1, 5), min_size=1, max_size=12)


def sequence(counts: list[int], known: int = KNOWN) -> list[SequenceStep]:
    """News that follow each other from *known* on."""
    ends = list(accumulate(counts, initial=known))[1:]
    return [SequenceStep(end, count) for end, count in zip(ends, counts, strict=True)]


@given(counts=sizes, dice=st.randoms(use_true_random=False))
def test_a_whole_sequence_is_followed_to_its_end_in_any_order(counts: list[int], dice) -> None:
    """Events come as they like; sorted by the platform's own counting they are all linked."""
    steps = sequence(counts)
    dice.shuffle(steps)
    found = follow(KNOWN, steps)
    assert found.known == KNOWN + sum(counts)
    assert [steps[one] for one in found.linked] == sequence(counts)
    assert found.apart == ()


@given(counts=sizes, data=st.data())
def test_nothing_beyond_a_missing_piece_moves_the_counter(counts: list[int], data: st.DataObject) -> None:
    """A gap is never jumped: what comes after it is stored and nothing more."""
    steps = sequence(counts)
    missing = data.draw(st.integers(0, len(steps) - 1))
    left = steps[:missing] + steps[missing + 1 :]
    shuffled = data.draw(st.permutations(left))
    found = follow(KNOWN, shuffled)
    assert found.known == KNOWN + sum(counts[:missing])
    assert {shuffled[one] for one in found.apart} == set(steps[missing + 1 :])


@given(counts=sizes, again=st.integers(0, 11), data=st.data())
def test_what_is_known_already_is_left_out(counts: list[int], again: int, data: st.DataObject) -> None:
    """Told twice, or late: it could bring back what was deleted since."""
    steps = sequence(counts)
    repeated = data.draw(st.permutations([*steps, steps[again % len(steps)]]))
    once = follow(KNOWN, repeated)
    assert (once.known, len(once.linked), once.apart) == (KNOWN + sum(counts), len(counts), ())
    later = follow(once.known, repeated)
    assert (later.known, later.linked, later.apart) == (once.known, (), ())


@given(known=st.none() | st.integers(0, 200), upto=st.none() | st.integers(0, 200), by=st.none() | st.integers(0, 5))
def test_without_a_number_nothing_is_proven(known: int | None, upto: int | None, by: int | None) -> None:
    """A channel that was never scanned has no counter, and some news has none either."""
    if None in (known, upto, by):
        assert order_of(known, SequenceStep(upto, by)) is SequenceOrder.APART


def test_news_without_a_step_follows_where_it_stands() -> None:
    """Some updates change nothing in the count; they are neither old nor apart."""
    assert order_of(KNOWN, SequenceStep(KNOWN, 0)) is SequenceOrder.NEXT
