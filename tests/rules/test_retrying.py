"""May a failed archive be tried again, and when (scenarios D of the scans)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.rules.retrying import (
    LONGEST_PAUSE,
    Failure,
    FailureReason,
    FailureState,
    RetryHabits,
    ask_by_hand,
    batches,
    calls_to_retry,
    due_at,
    fail,
    is_too_large,
    keeps_awake,
    pause_after,
    state_of,
)

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HABITS = RetryHabits()
BROKEN = Failure(message=50, reason=FailureReason.DOWNLOAD, attempts=1, next_try_at=NOON, size=10)

instants = st.timedeltas(timedelta(days=-14), timedelta(days=14)).map(lambda span: NOON + span)
failures = st.builds(
    Failure,
    message=st.integers(1, 999),
    reason=st.sampled_from(FailureReason),
    attempts=st.integers(0, 9),
    next_try_at=instants,
    size=st.integers(0, 100),
    by_hand=st.booleans(),
)


def again(earlier: Failure | None, now: datetime, reason: FailureReason = FailureReason.DOWNLOAD) -> Failure:
    return fail(earlier, message=50, reason=reason, size=10, habits=HABITS, now=now)


def test_s24_s25_the_first_retry_is_due_in_the_next_cycle() -> None:
    """S-24, S-25: however soon the next cycle comes, it fetches the failure."""
    first = again(None, NOON)
    assert first.attempts == 1
    assert state_of(first, HABITS, NOON) is FailureState.DUE


def test_later_retries_back_off_by_cycles() -> None:
    """2, 4 and 8 cycle intervals after the second, third and fourth try."""
    failure: Failure | None = None
    pauses = []
    for _ in range(4):
        failure = again(failure, NOON)
        pauses.append(failure.next_try_at - NOON)
    assert pauses == [timedelta(), 2 * HOUR, 4 * HOUR, 8 * HOUR]


def test_a_failure_that_rests_does_not_force_a_scan_but_keeps_its_place_awake() -> None:
    """Below the cap and not yet due: the empty counter stays 0, and no call is made for it."""
    second = again(BROKEN, NOON)
    assert state_of(second, HABITS, NOON + HOUR) is FailureState.WAITING
    assert keeps_awake(second, HABITS, NOON + HOUR)
    assert state_of(second, HABITS, NOON + 2 * HOUR) is FailureState.DUE


def test_s35_at_the_cap_it_is_given_up_with_its_last_reason() -> None:
    """S-35: no more calls, and the place may become idle."""
    failure = BROKEN
    for _ in range(4):
        failure = again(failure, NOON, FailureReason.UPLOAD)
    assert (failure.attempts, failure.reason) == (5, FailureReason.UPLOAD)
    assert state_of(failure, HABITS, NOON + 1_000 * HOUR) is FailureState.GIVEN_UP
    assert not keeps_awake(failure, HABITS, NOON + 1_000 * HOUR)


def test_s36_a_retry_by_hand_is_due_at_once() -> None:
    """S-36: the cap is behind it, all its tries are before it; one more failure does not give it up again."""
    given_up = replace(BROKEN, attempts=5, next_try_at=NOON + 8 * HOUR)
    asked = ask_by_hand(given_up, NOON)
    assert state_of(asked, HABITS, NOON) is FailureState.DUE
    tried = again(asked, NOON)
    assert not tried.by_hand
    assert state_of(tried, HABITS, NOON) is FailureState.DUE


def test_s37_a_hundred_failures_fit_a_call() -> None:
    """S-37: 250 due failures of a channel are three calls, 100 + 100 + 50."""
    assert [len(batch) for batch in batches(range(1_000, 1_250))] == [100, 100, 50]
    assert calls_to_retry(250) == 3


def test_a_raised_size_limit_makes_what_fits_due() -> None:
    """What is too large keeps nobody awake, and comes back by itself when the limit allows it."""
    large = replace(BROKEN, reason=FailureReason.SIZE_LIMIT, size=4_001, attempts=7)
    low, exact = RetryHabits(size_limit=4_000), RetryHabits(size_limit=4_001)
    assert state_of(large, low, NOON) is FailureState.HELD
    assert not keeps_awake(large, low, NOON)
    assert state_of(large, exact, NOON) is FailureState.DUE
    assert state_of(large, RetryHabits(), NOON) is FailureState.DUE


def test_s39_a_message_that_is_gone_closes_the_failure() -> None:
    """S-39: no further try, not even by hand: there is nothing to fetch."""
    closed = replace(BROKEN, reason=FailureReason.SOURCE_GONE)
    assert state_of(closed, HABITS, NOON + HOUR) is FailureState.CLOSED
    assert state_of(ask_by_hand(closed, NOON), HABITS, NOON) is FailureState.CLOSED


def test_s40_a_file_of_the_wrong_size_is_tried_again() -> None:
    """S-40: it counts as a download that failed."""
    assert state_of(again(None, NOON, FailureReason.DOWNLOAD), HABITS, NOON) is FailureState.DUE


@given(failure=failures, behind=st.timedeltas(timedelta(), timedelta(days=400)))
def test_a_clock_that_went_back_hides_no_failure(failure: Failure, behind: timedelta) -> None:
    """A next try further away than its pause was set by another clock: it is due."""
    now = failure.next_try_at - behind
    if state_of(failure, HABITS, now) is FailureState.WAITING:
        assert behind <= pause_after(failure.attempts, HABITS)


@given(failure=failures, now=instants)
def test_below_the_cap_nothing_is_forgotten(failure: Failure, now: datetime) -> None:
    """Law 2: a failure with tries left is due, or has an instant at which it will be."""
    state = state_of(failure, HABITS, now)
    if failure.reason in {FailureReason.SOURCE_GONE, FailureReason.SIZE_LIMIT}:
        return
    if failure.attempts < HABITS.cap or failure.by_hand:
        assert state in {FailureState.DUE, FailureState.WAITING}
        assert state_of(failure, HABITS, max(now, failure.next_try_at)) is FailureState.DUE


@given(tries=st.integers(1, 200), cap=st.integers(1, 200))
def test_pauses_only_grow_and_have_an_end(tries: int, cap: int) -> None:
    """However many tries an operator allows, the next one is at most a week away."""
    habits = RetryHabits(cap=cap)
    assert pause_after(tries, habits) <= pause_after(tries + 1, habits) <= LONGEST_PAUSE


@given(messages=st.lists(st.integers(1, 500), max_size=400))
def test_batches_hold_each_message_once(messages: list[int]) -> None:
    """No message is fetched twice, none is left out, and no call asks for more than it may."""
    calls = batches(messages)
    assert [message for call in calls for message in call] == sorted(set(messages))
    assert all(1 <= len(call) <= 100 for call in calls)
    assert len(calls) == calls_to_retry(len(set(messages)))


@pytest.mark.parametrize("reason", FailureReason)
def test_every_reason_is_a_sentence(reason: FailureReason) -> None:
    """Law 12: the operator reads why."""
    assert reason.sentence.endswith(".")


def test_habits_refuse_what_cannot_be() -> None:
    """A cap of nothing would give every archive up unread."""
    with pytest.raises(ValueError, match="cap"):
        RetryHabits(cap=0)


@given(size=st.integers(0, 100), limit=st.none() | st.integers(0, 100), earlier=st.none() | failures)
def test_s38_only_a_person_gets_past_the_size_limit(size: int, limit: int | None, earlier: Failure | None) -> None:
    """S-38: exactly the limit is allowed; above it only what somebody asked for by hand."""
    above = limit is not None and size > limit
    asked = earlier is not None and earlier.by_hand
    assert is_too_large(size, RetryHabits(size_limit=limit), earlier) is (above and not asked)


class TestWhenItIsDue:
    @given(failure=failures, now=instants, ended=instants)
    def test_whatever_may_succeed_has_a_time_and_nothing_else_has(
        self, failure: Failure, now: datetime, ended: datetime
    ) -> None:
        """Law 2: however far apart cycles are, no retry waits longer than its own pause and one interval."""
        at = due_at(failure, HABITS, now=now, cycle_ended=min(ended, now))
        assert (at is not None) == keeps_awake(failure, HABITS, now)
        if at is not None:
            assert at <= max(now, failure.next_try_at) + HABITS.cycle_interval

    def test_the_try_after_the_first_is_an_interval_later(self) -> None:
        """It failed right after a cycle: another cycle at once would only fail again."""
        assert due_at(BROKEN, HABITS, now=NOON, cycle_ended=NOON - timedelta(seconds=3)) == NOON + HOUR - timedelta(
            seconds=3
        )

    def test_one_that_rested_is_due_to_the_minute(self) -> None:
        """The second pause ends between two cycles, and the retry is then."""
        rested = replace(BROKEN, attempts=2, next_try_at=NOON)
        assert due_at(rested, HABITS, now=NOON, cycle_ended=NOON - 2 * HOUR) == NOON

    def test_a_person_does_not_wait(self) -> None:
        """Asked for since the last cycle: due now. Tried in it and still there: no sooner than the next."""
        asked = ask_by_hand(BROKEN, NOON)
        assert due_at(asked, HABITS, now=NOON, cycle_ended=NOON - timedelta(minutes=1)) == NOON
        assert due_at(asked, HABITS, now=NOON, cycle_ended=NOON) == NOON + HOUR
