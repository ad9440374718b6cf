"""A pace, and the bucket that keeps to it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.lanes.rules.pace_bucket import (
    MICROSECOND,
    MINUTE,
    Pace,
    PaceBucket,
    PaceGranted,
    PaceWait,
    charge,
    empty,
    repaced,
)
from tidegate.lanes.rules.send_caps import HOUR

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
FORTY = Pace(40)

paces = st.builds(
    Pace,
    rate=st.integers(1, 200),
    burst=st.integers(1, 6),
    per=st.sampled_from([SECOND, MINUTE]),
    slack=st.sampled_from([timedelta(), timedelta(seconds=0.5)]),
)
spans = st.timedeltas(timedelta(), timedelta(seconds=90))
steps = st.lists(st.one_of(spans, st.timedeltas(-2 * HOUR, 2 * HOUR)), max_size=150)


def grants(pace: Pace, start: PaceBucket | None, instants: Sequence[datetime]) -> list[int]:
    """At which of the *instants*, by position, a sender that asks at each of them is let through."""
    bucket, granted = start, []
    for position, now in enumerate(instants):
        answer = charge(bucket, pace, now)
        bucket = answer.bucket
        if isinstance(answer, PaceGranted):
            granted.append(position)
    return granted


def assert_pace_held(pace: Pace, granted: Sequence[datetime]) -> None:
    """No span of n intervals, half-open, holds more than n + burst - 1."""
    for first, start in enumerate(granted):
        for more, end in enumerate(granted[first:], 1):
            intervals = (end - start) // pace.interval + 1  # the fewest whole intervals that hold both
            assert more <= intervals + pace.burst - 1


def test_forty_a_minute_leave_a_gap_with_its_slack() -> None:
    """T = 60.5 s / rate: half a second a minute keeps the receiver's minute within the limit."""
    assert FORTY.interval == timedelta(seconds=1.5125)
    assert Pace(7).interval == timedelta(microseconds=8_642_858), "rounded up to whole microseconds"


@given(pace=paces)
def test_an_interval_never_rounds_down(pace: Pace) -> None:
    """A shorter gap would let one send too many into a long span."""
    assert pace.interval * pace.rate >= pace.per + pace.slack
    assert (pace.interval - MICROSECOND) * pace.rate < pace.per + pace.slack


@pytest.mark.parametrize("wrong", [{"rate": 0}, {"rate": 1, "burst": 0}, {"rate": 1, "per": timedelta()}])
def test_a_pace_of_nothing_is_refused(wrong: dict[str, int]) -> None:
    """A pace that would divide by nothing, or never grant, is a mistake of the caller."""
    with pytest.raises(ValueError, match="a pace needs"):
        Pace(**wrong)  # type: ignore[arg-type]


def test_a_thousand_sends_at_forty_a_minute() -> None:
    """D-12: the last of 1,000 leaves 1,511 s after the first, and no half-open minute holds more than 40."""
    bucket, sent, now = empty(FORTY, NOON), [], NOON
    while len(sent) < 1_000:
        answer = charge(bucket, FORTY, now)
        bucket = answer.bucket
        if isinstance(answer, PaceGranted):
            sent.append(now)
        else:
            now = answer.until
    assert round((sent[-1] - sent[0]).total_seconds()) == 1_511
    assert max(sum(start <= one < start + MINUTE for one in sent) for start in sent) == 40


def test_a_burst_of_five_lets_44_into_a_minute() -> None:
    """D-13: rate + burst - 1."""
    pace = Pace(40, burst=5)
    instants = [NOON + n * timedelta(milliseconds=100) for n in range(1_200)]
    sent = [instants[n] for n in grants(pace, PaceBucket(NOON - HOUR), instants)]
    assert sent[4] == NOON + 4 * timedelta(milliseconds=100), "five at once after a rest"
    assert max(sum(start <= one < start + MINUTE for one in sent) for start in sent) == 44


@given(pace=paces)
def test_a_missing_bucket_is_an_empty_one(pace: Pace) -> None:
    """What is not known counts as spent, so the first send waits a whole interval, whatever the burst.

    Invariant: never-above-the-pace.
    """
    answer = charge(None, pace, NOON)
    assert isinstance(answer, PaceWait)
    assert answer.until == NOON + pace.interval
    assert not answer.clock_went_back
    assert isinstance(charge(answer.bucket, pace, answer.until), PaceGranted)


@given(
    pace=paces, steps=st.lists(spans, max_size=150), jumps=st.lists(st.timedeltas(timedelta(), 2 * HOUR), max_size=5)
)
def test_the_pace_holds_over_any_instants(pace: Pace, steps: list[timedelta], jumps: list[timedelta]) -> None:
    """No span of n intervals holds more than n + burst - 1 grants, also when the clock jumps ahead.

    Invariant: never-above-the-pace.
    """
    now, instants = NOON, []
    for step in [*steps, *jumps, *steps]:
        now += step
        instants.append(now)
    granted = [instants[n] for n in grants(pace, None, instants)]
    assert_pace_held(pace, granted)
    if pace.burst == 1:
        assert all(later - earlier >= pace.interval for earlier, later in pairwise(granted))


@given(pace=paces, steps=steps)
def test_the_pace_holds_while_the_clock_goes_back(pace: Pace, steps: list[timedelta]) -> None:
    """D-17: counted in time that truly passed, a clock that goes back and forth allows no burst."""
    now, true, instants, passed = NOON, NOON, [], []
    for step in steps:
        now += step
        true += max(step, timedelta())
        instants.append(now)
        passed.append(true)
    assert_pace_held(pace, [passed[n] for n in grants(pace, None, instants)])


@given(pace=paces, back=st.timedeltas(MICROSECOND, 3 * HOUR), since=spans)
def test_a_clock_that_goes_back_stalls_no_longer_than_the_burst(pace: Pace, back: timedelta, since: timedelta) -> None:
    """D-17: an hour back costs no hour: the wait is at most one interval."""
    spent = charge(PaceBucket(NOON - HOUR), pace, NOON)
    now = NOON + since - back
    answer = charge(spent.bucket, pace, now)
    assert isinstance(answer, PaceGranted) or answer.until - now <= pace.interval
    if isinstance(answer, PaceWait):
        assert isinstance(charge(answer.bucket, pace, answer.until), PaceGranted)


def test_a_pause_after_a_warning_survives_a_clock_that_goes_back_at_its_own_length() -> None:
    """D-17: a pause of ten minutes stays one of ten minutes, not of an hour and ten."""
    bucket = PaceBucket(NOON, not_before=NOON + 10 * MINUTE, warned_at=NOON)
    answer = charge(bucket, FORTY, NOON - HOUR)
    assert isinstance(answer, PaceWait)
    assert answer.clock_went_back
    assert answer.until == NOON - HOUR + 10 * MINUTE


def test_nothing_is_sent_before_a_pause_ends() -> None:
    """A full bucket does not help against a warning."""
    bucket = PaceBucket(NOON - HOUR, not_before=NOON + MINUTE, warned_at=NOON)
    assert charge(bucket, FORTY, NOON) == PaceWait(NOON + MINUTE, bucket)
    assert isinstance(charge(bucket, FORTY, NOON + MINUTE), PaceGranted)


@given(old=st.integers(1, 120), new=st.integers(1, 120), asked=spans)
def test_a_changed_pace_counts_from_the_last_send(old: int, new: int, asked: timedelta) -> None:
    """After a change, faster or slower, the next send keeps the new interval from the last, and nothing cries alarm."""
    before, after = Pace(old), Pace(new)
    sent = charge(PaceBucket(NOON - HOUR), before, NOON)
    now = NOON + min(asked, before.interval)
    answer = charge(repaced(sent.bucket, before, after, now), after, now)
    assert answer == PaceGranted(PaceBucket(now + after.interval)) or (
        isinstance(answer, PaceWait) and answer.until == NOON + after.interval and not answer.clock_went_back
    )


@given(old=paces, new=paces, ahead=st.timedeltas(timedelta(), 3 * HOUR))
def test_a_changed_pace_waits_for_no_more_than_its_own_burst(old: Pace, new: Pace, ahead: timedelta) -> None:
    """However far ahead the old bucket was, the new one is at most spent, and its pause is kept."""
    bucket = PaceBucket(NOON + ahead, not_before=NOON + MINUTE, warned_at=NOON)
    changed = repaced(bucket, old, new, NOON)
    assert changed.tat == min(NOON + ahead - old.interval + new.interval, NOON + new.horizon)
    assert (changed.not_before, changed.warned_at) == (bucket.not_before, bucket.warned_at)


def test_a_slower_pace_after_a_spent_burst_waits_for_the_new_burst() -> None:
    """Five spent at once at 40 a minute, then the pace falls to 4: the next goes out one new interval from now."""
    fast, slow = Pace(40, burst=5), Pace(4)
    changed = repaced(empty(fast, NOON), fast, slow, NOON)
    assert changed.tat == NOON + slow.interval
    answer = charge(changed, slow, NOON)
    assert isinstance(answer, PaceWait)
    assert (answer.until, answer.clock_went_back) == (NOON + slow.interval, False)


# Caps
