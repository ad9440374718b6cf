"""Rounds of comparing a whole history: every message once, within the budget of each day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.ids import MessageId
from tidegate.history.rules.verification_round import CALLS_OF_A_PAGE, begins_every, ends_at, next_bound, room

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@given(numbers=st.sets(st.integers(1, 500), min_size=1), page=st.integers(1, 40))
def test_a_round_shows_each_message_once_and_ends(numbers: set[int], page: int) -> None:
    """From the newest page down to the lowest message that is stored, whatever is above or between."""
    shown, below = list[int](), 501
    while True:
        rows = sorted((one for one in numbers if one < below), reverse=True)[:page]
        shown += rows
        found = next_bound([MessageId(one) for one in rows], reached_start=False, lowest=min(numbers))
        if found is None:
            break
        assert found < below
        below = found
    assert sorted(shown) == sorted(numbers)


@given(calls=st.integers(0, 900), spent=st.integers(0, 900), a_pass=st.integers(1, 9))
def test_no_pass_can_exceed_the_day(calls: int, spent: int, a_pass: int) -> None:
    """Even if the last page of a pass costs the most a page can."""
    left = room(calls, spent, a_pass)
    worst = left - 1 + CALLS_OF_A_PAGE if left else 0
    assert spent + worst <= max(calls, spent)


def test_the_end_follows_from_the_budget() -> None:
    """A thousand pages at 500 a day take two days; without a budget there is no end."""
    assert ends_at(NOW, 1_000, 500) == NOW + timedelta(days=2)
    assert ends_at(NOW, 1_000, 0) is None
    assert begins_every(timedelta(days=30)) == timedelta(days=15)
