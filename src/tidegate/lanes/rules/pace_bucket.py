"""A pace of calls or sends, and the bucket that keeps to it: the rate limiter GCRA (seed 002).

GCRA stores one instant per bucket, the theoretical arrival time (``tat``): when the bucket would be full again. The SQL
function ``claim_send`` implements ``charge`` as well. A test runs both on the same histories.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

MICROSECOND = timedelta(microseconds=1)
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Pace:
    """*rate* sends every *per*, of which *burst* may be sent at once after an idle time.

    The slack makes the gap between sends a little longer, so that sends within the limit also arrive within it.
    """

    rate: int
    per: timedelta = MINUTE
    burst: int = 1
    slack: timedelta = timedelta(seconds=0.5)

    def __post_init__(self) -> None:
        if self.rate < 1 or self.burst < 1 or self.per <= timedelta() or self.slack < timedelta():
            raise ValueError(f"a pace needs a rate, a burst and a span above nothing: {self}")

    @property
    def interval(self) -> timedelta:
        """The gap that one send takes, in whole microseconds, rounded up."""
        return -(-(self.per + self.slack) // MICROSECOND // self.rate) * MICROSECOND

    @property
    def horizon(self) -> timedelta:
        """The maximum distance of a valid ``tat`` from now: the whole burst is spent."""
        return self.burst * self.interval


@dataclass(frozen=True, slots=True)
class PaceBucket:
    """The sends spent, and the pause after a warning."""

    tat: datetime  # the theoretical arrival time: when the bucket would be full again
    not_before: datetime | None = None  # until when the pause after a warning lasts
    warned_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PaceGranted:
    """A send is permitted."""

    bucket: PaceBucket  # to be stored


@dataclass(frozen=True, slots=True)
class PaceWait:
    """Nothing was charged."""

    until: datetime  # when to ask again
    bucket: PaceBucket  # to be stored: a missing or corrected one starts to fill now
    clock_went_back: bool = False


def empty(pace: Pace, now: datetime) -> PaceBucket:
    """An empty bucket: the first send waits a whole interval. Unknown sends count as spent."""
    return PaceBucket(tat=now + pace.horizon)


def charge(bucket: PaceBucket | None, pace: Pace, now: datetime) -> PaceGranted | PaceWait:
    """Take one token, or return the instant at which there is one.

    A bucket further ahead than spending can bring it proves that the clock went back. It is treated as empty, which
    allows no burst and delays sends by at most one interval.
    """
    kept = empty(pace, now) if bucket is None else corrected(bucket, pace, now)
    base = max(kept.tat, now)
    until = base - (pace.horizon - pace.interval)
    if kept.not_before is not None:
        until = max(until, kept.not_before)
    if now < until:
        return PaceWait(until, kept, clock_went_back=bucket is not None and kept != bucket)
    return PaceGranted(replace(kept, tat=base + pace.interval))


def corrected(bucket: PaceBucket, pace: Pace, now: datetime) -> PaceBucket:
    """The same bucket if the clock went forward; if it went back, an empty one with its pause started again."""
    tat = min(bucket.tat, now + pace.horizon)
    if bucket.not_before is None or bucket.warned_at is None or bucket.warned_at <= now:
        return replace(bucket, tat=tat)
    return PaceBucket(tat, not_before=now + (bucket.not_before - bucket.warned_at), warned_at=now)


def repaced(bucket: PaceBucket, old: Pace, new: Pace, now: datetime) -> PaceBucket:
    """The bucket of an account whose pace changes: the next send keeps the new interval from the last one."""
    tat = bucket.tat - old.interval + new.interval
    return replace(bucket, tat=min(tat, now + new.horizon))
