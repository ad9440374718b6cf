"""Rounds of comparing a whole history: every message once, within the budget of each day."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.ids import MessageId
from tidegate.history.rules.verification_round import (
    CALLS_OF_A_PAGE,
    FreeCounter,
    begins_every,
    ends_at,
    next_bound,
    proves,
    room,
)
from tidegate.scans.rules.scan_decision import ScanMemory, ScanOutcome, after_scan

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


class FollowedHistory:
    """A channel's counter and its changes: which of them are stored, and what a scan remembers of it."""

    def __init__(self) -> None:
        self.moved_to, self.stored_upto, self.missing = 1, 1, set[int]()
        self.memory, self.compared = ScanMemory(), None

    def change(self) -> None:
        self.moved_to += 1
        self.missing.add(self.moved_to)

    def change_unseen(self) -> None:
        """Before the counter was known: nothing will ever name this change."""
        if self.memory.changes is None and self.memory.unread_upto is None:
            self.change()

    def read(self) -> None:
        """The difference since the stored counter, which has every change above it."""
        if self.memory.changes is None:
            return self.search()
        self.missing = {one for one in self.missing if one <= self.memory.changes}
        return self._scan(unread=False)

    def search(self) -> None:
        self._scan(unread=True)

    def drop(self) -> None:
        """The stored counter proves nothing any more."""
        known = self.memory
        since = known.changes if known.unread_since is None else known.unread_since
        upto = known.unread_upto if known.changes is None else known.changes
        self.memory = replace(known, unread_since=since, unread_upto=upto, changes=None)

    def compare_unread(self) -> None:
        """By number, which is done only where something is unread."""
        if self.memory.unread_upto is not None:
            self.missing.clear()
            self.memory = replace(self.memory, unread_since=None, unread_upto=None)

    def compare_all(self) -> None:
        """A whole round."""
        self.missing.clear()
        self.compared = None if self.memory.unread_upto is not None else self.memory.changes

    def _scan(self, *, unread: bool) -> None:
        self.memory = after_scan(self.memory, ScanOutcome(True, changes=self.moved_to, unread=unread), now=NOW)

    @property
    def counter(self) -> FreeCounter:
        return FreeCounter(self.compared, self.memory.changes, self.memory.unread_upto is not None, disputed=False)


STEPS = ["change", "change_unseen", "read", "search", "drop", "compare_unread", "compare_all"]


@given(steps=st.lists(st.sampled_from(STEPS), max_size=30))
def test_a_counter_proves_a_history_only_where_all_its_changes_are_stored(steps: list[str]) -> None:
    """Whatever was read, left out, dropped or compared before."""
    history = FollowedHistory()
    for step in steps:
        getattr(history, step)()
        if proves(history.counter):
            assert history.memory.changes is not None
            assert not [one for one in history.missing if one <= history.memory.changes]


def test_a_followed_counter_proves_and_a_count_that_disagrees_forbids() -> None:
    """From a whole round on; without one, or with a dispute, the pages are read."""
    history = FollowedHistory()
    history.search()
    assert not proves(history.counter)
    history.compare_all()
    history.change()
    history.read()
    assert proves(history.counter)
    assert not proves(replace(history.counter, disputed=True))
    assert not proves(replace(history.counter, known=1, compared=2))
