"""Coverage as a picture."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tidegate.rules.history import Coverage
from tidegate.rules.picturing import WIDTH, Bar, picture_of

NUMBERS = st.integers(0, 2**63 - 1)
COVERAGES = st.lists(st.tuples(NUMBERS, NUMBERS).map(lambda ends: (min(ends), max(ends)))).map(Coverage.of)


def test_half_of_a_history() -> None:
    """Its newer half is a bar at the right, what is missing a bar at the left."""
    found = picture_of(Coverage.of([(501, 1_000)]), first=1, head=1_000)
    assert (found.covered, found.gaps) == ((Bar(500, 500),), (Bar(0, 500),))
    assert found.words == "50% covered, 1 gap."


def test_one_missing_message_among_millions_is_seen() -> None:
    """A gap has a width that a person sees, and the words do not round it away."""
    found = picture_of(Coverage.of([(0, 499_999), (500_001, 1_000_000)]), first=0, head=1_000_000)
    assert found.gaps == (Bar(499, 4),)
    assert found.words == "over 99% covered, 1 gap."


def test_nothing_seen_and_nothing_covered() -> None:
    """An empty channel has an empty picture; one of which nothing was read says so."""
    assert picture_of(Coverage(), first=0, head=-1).gaps == ()
    assert picture_of(Coverage(), first=0, head=9).words == "Nothing is covered yet."


@given(COVERAGES, NUMBERS, NUMBERS)
def test_bars_lie_in_the_picture_in_order_and_apart(coverage: Coverage, one: int, other: int) -> None:
    """Whatever the numbers, nothing is drawn beside the picture or twice."""
    found = picture_of(coverage, first=min(one, other), head=max(one, other))
    for bars in (found.covered, found.gaps):
        assert all(bar.at >= 0 and bar.width > 0 and bar.at + bar.width <= WIDTH for bar in bars)
        assert all(left.at + left.width < right.at for left, right in pairwise(bars))


@given(COVERAGES, NUMBERS, NUMBERS)
def test_it_is_complete_exactly_when_nothing_is_missing(coverage: Coverage, one: int, other: int) -> None:
    """The words, the bars and the coverage itself say the same."""
    first, head = min(one, other), max(one, other)
    found = picture_of(coverage, first=first, head=head)
    missing = coverage.gaps(start=first, head=head)
    assert (found.words == "Complete.") is (not missing)
    assert bool(found.gaps) is bool(missing)
    assert 0.0 <= found.share <= 1.0
