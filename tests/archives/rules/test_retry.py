"""May a failed archive be tried again, and when (scenarios D of the scans)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.archives.rules.retry import (
    LONGEST_PAUSE,
    ArchiveFailure,
    FailureReason,
    FailureState,
    RetryPolicy,
    after_jump,
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
POLICY = RetryPolicy()
BROKEN = ArchiveFailure(message=50, reason=FailureReason.DOWNLOAD, attempts=1, next_try_at=NOON, size=10)

instants = st.timedeltas(timedelta(days=-14), timedelta(days=14)).map(lambda span: NOON + span)
failures = st.builds(
    ArchiveFailure,
    message=st.integers(1, 999),
    reason=st.sampled_from(FailureReason),
    attempts=st.integers(0, 9),
    next_try_at=instants,
    size=st.integers(0, 100),
    by_hand=st.booleans(),
)


def again(
    earlier: ArchiveFailure | None, now: datetime, reason: FailureReason = FailureReason.DOWNLOAD
) -> ArchiveFailure:
    return fail(earlier, message=50, reason=reason, size=10, policy=POLICY, now=now)


def test_s24_s25_the_first_retry_is_due_in_the_next_cycle() -> None:
    """S-24, S-25: however soon the next cycle comes, it fetches the failure."""
    first = again(None, NOON)
    assert first.attempts == 1
    assert state_of(first, POLICY, NOON) is FailureState.DUE


def test_later_retries_back_off_by_cycles() -> None:
    """2, 4 and 8 cycle intervals after the second, third and fourth try."""
    failure: ArchiveFailure | None = None
    pauses = []
    for _ in range(4):
        now = failure.next_try_at if failure else NOON
        failure = again(failure, now)
        pauses.append(failure.next_try_at - now)
    assert pauses == [timedelta(), 2 * HOUR, 4 * HOUR, 8 * HOUR]


def test_a_failure_that_rests_does_not_force_a_scan_but_keeps_its_place_awake() -> None:
    """Below the cap and not yet due: the empty counter stays 0, and no call is made for it."""
    second = again(BROKEN, NOON)
    assert state_of(second, POLICY, NOON + HOUR) is FailureState.WAITING
    assert keeps_awake(second, POLICY, NOON + HOUR)
    assert state_of(second, POLICY, NOON + 2 * HOUR) is FailureState.DUE


def test_s35_at_the_cap_it_is_given_up_with_its_last_reason() -> None:
    """S-35: no more calls, and the place may become idle."""
    failure = BROKEN
    for _ in range(4):
        failure = again(failure, failure.next_try_at, FailureReason.UPLOAD)
    assert (failure.attempts, failure.reason) == (5, FailureReason.UPLOAD)
    assert state_of(failure, POLICY, NOON + 1_000 * HOUR) is FailureState.GIVEN_UP
    assert not keeps_awake(failure, POLICY, NOON + 1_000 * HOUR)


def test_s36_a_retry_by_hand_is_due_at_once() -> None:
    """S-36: the cap is behind it, all its tries are before it; one more failure does not give it up again."""
    given_up = replace(BROKEN, attempts=5, next_try_at=NOON + 8 * HOUR)
    asked = ask_by_hand(given_up, NOON)
    assert state_of(asked, POLICY, NOON) is FailureState.DUE
    tried = again(asked, NOON)
    assert not tried.by_hand
    assert state_of(tried, POLICY, NOON) is FailureState.DUE


def test_s37_a_hundred_failures_fit_a_call() -> None:
    """S-37: 250 due failures of a channel are three calls, 100 + 100 + 50."""
    assert [len(batch) for batch in batches(range(1_000, 1_250))] == [100, 100, 50]
    assert calls_to_retry(250) == 3


def test_a_raised_size_limit_makes_what_fits_due() -> None:
    """What is too large keeps nobody awake, and comes back by itself when the limit allows it."""
    large = replace(BROKEN, reason=FailureReason.SIZE_LIMIT, size=4_001, attempts=7)
    low, exact = RetryPolicy(size_limit=4_000), RetryPolicy(size_limit=4_001)
    assert state_of(large, low, NOON) is FailureState.HELD
    assert not keeps_awake(large, low, NOON)
    assert state_of(large, exact, NOON) is FailureState.DUE
    assert state_of(large, RetryPolicy(), NOON) is FailureState.DUE


def test_s39_a_message_that_is_gone_closes_the_failure() -> None:
    """S-39: no further try, not even by hand: there is nothing to fetch."""
    closed = replace(BROKEN, reason=FailureReason.SOURCE_GONE)
    assert state_of(closed, POLICY, NOON + HOUR) is FailureState.CLOSED
    assert state_of(ask_by_hand(closed, NOON), POLICY, NOON) is FailureState.CLOSED


def test_s40_a_file_of_the_wrong_size_is_tried_again() -> None:
    """S-40: it counts as a download that failed."""
    assert state_of(again(None, NOON, FailureReason.DOWNLOAD), POLICY, NOON) is FailureState.DUE


@given(failure=failures, behind=st.timedeltas(timedelta(), timedelta(days=400)))
def test_a_clock_that_went_back_hides_no_failure(failure: ArchiveFailure, behind: timedelta) -> None:
    """A next try further away than its pause was set by another clock: it is due."""
    now = failure.next_try_at - behind
    if state_of(failure, POLICY, now) is FailureState.WAITING:
        assert behind <= pause_after(failure.attempts, POLICY)


@given(failure=failures, now=instants)
def test_below_the_cap_nothing_is_forgotten(failure: ArchiveFailure, now: datetime) -> None:
    """due-failure-never-skipped: a failure with tries left is due, or has an instant at which it will be."""
    state = state_of(failure, POLICY, now)
    if failure.reason in {FailureReason.SOURCE_GONE, FailureReason.SIZE_LIMIT}:
        return
    if failure.attempts < POLICY.cap or failure.by_hand:
        assert state in {FailureState.DUE, FailureState.WAITING}
        assert state_of(failure, POLICY, max(now, failure.next_try_at)) is FailureState.DUE


@given(tries=st.integers(1, 200), cap=st.integers(1, 200))
def test_pauses_only_grow_and_have_an_end(tries: int, cap: int) -> None:
    """However many tries an operator allows, the next one is at most a week away."""
    policy = RetryPolicy(cap=cap)
    assert pause_after(tries, policy) <= pause_after(tries + 1, policy) <= LONGEST_PAUSE


@given(messages=st.lists(st.integers(1, 500), max_size=400))
def test_batches_hold_each_message_once(messages: list[int]) -> None:
    """No message is fetched twice, none is left out, and no call asks for more than it may."""
    calls = batches(messages)
    assert [message for call in calls for message in call] == sorted(set(messages))
    assert all(1 <= len(call) <= 100 for call in calls)
    assert len(calls) == calls_to_retry(len(set(messages)))


@pytest.mark.parametrize("reason", FailureReason)
def test_every_reason_is_a_sentence(reason: FailureReason) -> None:
    """bad-input-gets-a-sentence: the operator reads why."""
    assert reason.sentence.endswith(".")


def test_habits_refuse_what_cannot_be() -> None:
    """A cap of nothing would give every archive up unread."""
    with pytest.raises(ValueError, match="cap"):
        RetryPolicy(cap=0)


@given(size=st.integers(0, 100), limit=st.none() | st.integers(0, 100), earlier=st.none() | failures)
def test_s38_only_a_person_gets_past_the_size_limit(
    size: int, limit: int | None, earlier: ArchiveFailure | None
) -> None:
    """S-38: exactly the limit is allowed; above it only what somebody asked for by hand."""
    above = limit is not None and size > limit
    asked = earlier is not None and earlier.by_hand
    assert is_too_large(size, RetryPolicy(size_limit=limit), earlier) is (above and not asked)


class TestWhenItIsDue:
    @given(failure=failures, now=instants, ended=instants)
    def test_whatever_may_succeed_has_a_time_and_nothing_else_has(
        self, failure: ArchiveFailure, now: datetime, ended: datetime
    ) -> None:
        """However far apart cycles are, no retry waits longer than its own pause and one interval.

        Invariant: due-failure-never-skipped.
        """
        at = due_at(failure, POLICY, now=now, cycle_ended=min(ended, now))
        assert (at is not None) == keeps_awake(failure, POLICY, now)
        if at is not None:
            assert at <= max(now, failure.next_try_at) + POLICY.cycle_interval

    def test_the_try_after_the_first_is_an_interval_later(self) -> None:
        """It failed right after a cycle: another cycle at once would only fail again."""
        assert due_at(BROKEN, POLICY, now=NOON, cycle_ended=NOON - timedelta(seconds=3)) == NOON + HOUR - timedelta(
            seconds=3
        )

    def test_one_that_rested_is_due_to_the_minute(self) -> None:
        """The second pause ends between two cycles, and the retry is then."""
        rested = replace(BROKEN, attempts=2, next_try_at=NOON)
        assert due_at(rested, POLICY, now=NOON, cycle_ended=NOON - 2 * HOUR) == NOON

    def test_a_person_does_not_wait(self) -> None:
        """Asked for since the last cycle: due now. Tried in it and still there: no sooner than the next."""
        asked = ask_by_hand(BROKEN, NOON)
        assert due_at(asked, POLICY, now=NOON, cycle_ended=NOON - timedelta(minutes=1)) == NOON
        assert due_at(asked, POLICY, now=NOON, cycle_ended=NOON) == NOON + HOUR


def test_a_size_limit_spends_no_try() -> None:
    """However often an archive is found to be too large, it has all its tries when the limit is raised."""
    held = None
    for _ in range(9):
        held = again(held, NOON, FailureReason.SIZE_LIMIT)
    assert held is not None
    assert held.attempts == 0
    tried = again(again(None, NOON), NOON + HOUR, FailureReason.SIZE_LIMIT)
    assert tried.attempts == 1


@given(failures, st.timedeltas(timedelta(seconds=1), timedelta(days=13)))
def test_a_clock_that_went_back_spends_no_try(failure: ArchiveFailure, behind: timedelta) -> None:
    """A failure that is tried before its time, because the clock went back, has no try less when it fails again."""
    early = replace(failure, by_hand=False)
    later = again(early, early.next_try_at - behind)
    assert later.attempts == early.attempts
    assert later.next_try_at - (early.next_try_at - behind) <= pause_after(early.attempts, POLICY)


class TestAClockThatJumps:
    """A failure that was recorded *ago* has a pause of two hours, and the clock jumps by *jump*."""

    @given(st.timedeltas(timedelta(), 2 * HOUR), st.timedeltas(timedelta(minutes=5), timedelta(days=9)))
    def test_forward_takes_the_rest_along(self, ago: timedelta, jump: timedelta) -> None:
        """Recorded before the jump it has as much of its rest before it as without one."""
        kept = again(again(None, NOON), NOON)
        assert after_jump(kept, POLICY, now=NOON + ago + jump, jump=jump) == kept.next_try_at + jump

    @given(st.timedeltas(timedelta(), 9 * HOUR), st.timedeltas(timedelta(minutes=5), timedelta(days=9)), st.booleans())
    def test_a_try_is_never_early(self, ago: timedelta, jump: timedelta, back: bool) -> None:
        """Recorded after the jump, while a cycle ran: it rests for its pause at least, and for two at most."""
        kept = again(again(None, NOON), NOON)
        now = NOON + ago
        moved = after_jump(kept, POLICY, now=now, jump=-jump if back else jump)
        assert moved >= kept.next_try_at
        assert moved <= max(kept.next_try_at, now + pause_after(2, POLICY))

    @given(st.timedeltas(timedelta(), 2 * HOUR), st.timedeltas(timedelta(minutes=5), timedelta(days=9)))
    def test_backward_hides_nothing_for_longer_than_its_pause(self, ago: timedelta, jump: timedelta) -> None:
        """Recorded before the jump it rests for what is left of its rest at least, and for its pause at most."""
        kept = again(again(None, NOON), NOON)
        now = NOON + ago - jump
        rest = after_jump(kept, POLICY, now=now, jump=-jump) - now
        assert kept.next_try_at - NOON - ago <= rest <= pause_after(2, POLICY)


def test_the_pauses_are_these_cycles() -> None:
    """In the next cycle at first, then 2, 4, 8 … cycles, and never longer than a week, however many tries there are."""
    policy = RetryPolicy(cap=100)
    assert [pause_after(tries, policy) / HOUR for tries in (0, 1, 2, 3, 4, 5, 8, 9, 60)] == [
        0, 0, 2, 4, 8, 16, 128, 168, 168,
    ]  # fmt: skip
    short = RetryPolicy(cap=100, cycle_interval=timedelta(seconds=1))
    assert pause_after(17, short) == pause_after(99, short) == timedelta(seconds=65_536)


def test_the_habits_of_the_seed() -> None:
    """Five tries, an hour a cycle, no limit of size; 100 messages are fetched by a call."""
    assert RetryPolicy() == RetryPolicy(cap=5, cycle_interval=HOUR, size_limit=None)
    assert [calls_to_retry(failures) for failures in (0, 1, 100, 101, 200)] == [0, 1, 1, 2, 2]
    assert [len(batch) for batch in batches(range(201))] == [100, 100, 1]
