"""Coverage as a picture."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.history.rules.coverage import Coverage
from tidegate.history.rules.coverage_bar import LISTED, WIDTH, BarSegment, CoverageBar, picture_of

NUMBERS = st.integers(0, 2**63 - 1)
COVERAGES = st.lists(st.tuples(NUMBERS, NUMBERS).map(lambda ends: (min(ends), max(ends)))).map(Coverage.of)


def test_half_of_a_history() -> None:
    """Its newer half is a bar at the right, what is missing a bar at the left."""
    found = picture_of(Coverage.of([(501, 1_000)]), first=1, head=1_000)
    assert (found.covered, found.gaps) == ((BarSegment(500, 500),), (BarSegment(0, 500),))
    assert found.words == "50% covered, 1 gap."


def test_one_missing_message_among_millions_is_seen() -> None:
    """A gap has a width that a person sees, and the words do not round it away."""
    found = picture_of(Coverage.of([(0, 499_999), (500_001, 1_000_000)]), first=0, head=1_000_000)
    assert found.gaps == (BarSegment(499, 4),)
    assert found.words == "over 99% covered, 1 gap."


def test_nothing_seen_and_nothing_covered() -> None:
    """An empty channel has an empty picture; one of which nothing was read says so."""
    assert picture_of(Coverage(), first=0, head=-1) == CoverageBar((), (), 0, 0.0)
    assert picture_of(Coverage(), first=0, head=9).words == "Nothing is covered yet."


def test_a_bar_is_as_wide_as_its_share() -> None:
    """A thousand units for the whole; ends included, first message other than 0, and cut to what is shown."""
    found = picture_of(Coverage.of([(0, 119), (150, 159), (190, 500)]), first=100, head=199)
    assert found.covered == (BarSegment(0, 200), BarSegment(500, 100), BarSegment(900, 100))
    assert found.gaps == (BarSegment(200, 300), BarSegment(600, 300))
    assert (found.holes, found.share) == (2, 0.4)
    assert found.words == "40% covered, 2 gaps."


def test_bars_that_touch_are_one_and_the_last_stays_inside() -> None:
    """Two gaps a few messages apart are drawn as one; one at the very end is drawn whole, up to the edge."""
    found = picture_of(Coverage.of([(0, 499_999), (500_001, 502_000), (502_002, 999_998)]), first=0, head=999_999)
    assert found.gaps == (BarSegment(500, 6), BarSegment(996, 4))
    assert found.holes == 3
    assert picture_of(Coverage.of([(0, 0)]), first=0, head=999_999).covered == (BarSegment(0, 1),)
    assert picture_of(Coverage.of([(999_999, 999_999)]), first=0, head=999_999).covered == (BarSegment(999, 1),)
    assert picture_of(Coverage.of([(7, 7)]), first=7, head=7).words == "Complete."


@pytest.mark.parametrize(
    ("covered", "words"),
    [(9, "less than 1%"), (10, "1%"), (490, "49%"), (990, "99%"), (991, "over 99%")],
)
def test_words_never_round_to_nothing_or_to_all(covered: int, words: str) -> None:
    """From 1% to 99% a number; beyond these it is said that it is less, or more."""
    found = picture_of(Coverage.of([(1, covered)]), first=1, head=1_000)
    assert found.words == f"{words} covered, 1 gap."


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


@given(COVERAGES, NUMBERS, NUMBERS)
def test_the_newest_gaps_are_listed(coverage: Coverage, one: int, other: int) -> None:
    """The newest first, and none that is not there."""
    first, head = min(one, other), max(one, other)
    listed = picture_of(coverage, first=first, head=head).newest
    assert list(listed) == coverage.gaps(start=first, head=head)[::-1][:LISTED]


def test_of_very_many_gaps_some_are_listed() -> None:
    """And all are counted."""
    found = picture_of(Coverage.of([(2 * number, 2 * number) for number in range(1_000)]), first=0, head=1_999)
    assert (len(found.newest), found.newest[0], found.holes) == (LISTED, (1_999, 1_999), 1_000)
