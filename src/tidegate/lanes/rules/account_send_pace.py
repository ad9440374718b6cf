"""How fast an account may send: GCRA, slower after a warning, slow at first (seed 002).

GCRA stores one instant per bucket, the theoretical arrival time (``tat``): when the bucket would be full again. The SQL
function ``claim_send`` implements ``charge`` and ``held_back_until`` as well. A test runs both on the same histories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

MICROSECOND = timedelta(microseconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

CLEAN_STRETCH = timedelta(minutes=2)
"""A stretch without a warning, and with a send, raises the rate by one send a minute."""

LONGEST_BACK_OFF = timedelta(minutes=30)


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


def burst_warning(burst: int) -> str | None:
    """A warning for the operator about a burst; None where there is none."""
    if burst <= 1:
        return None
    return (
        f"send_burst is {burst}: an account that rested sends {burst} messages at once, so in that minute more than "
        "max_send_per_minute. Platforms take that for spam sooner than a steady pace; 1 is the safe value."
    )


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


# Caps


@dataclass(frozen=True, slots=True)
class Caps:
    """The most sends in any hour and in any day; None for no such cap."""

    per_hour: int | None = None
    per_day: int | None = None


def held_back_until(sent: Sequence[datetime], caps: Caps, now: datetime) -> datetime | None:
    """When the caps allow the next send, *sent* being the instants of the last ones in order; None for at once.

    A send leaves the count exactly an hour, or a day, after its instant.
    """
    return max(
        (
            min(sent[-cap], now) + span
            for cap, span in ((caps.per_hour, HOUR), (caps.per_day, DAY))
            if cap is not None and len(sent) >= cap and sent[-cap] > now - span
        ),
        default=None,
    )


@dataclass(frozen=True, slots=True)
class WarmUp:
    """A new account sends few messages a day at first, and again after a long idle time."""

    first_day: int = 20
    growth: float = 1.8
    days: int = 7
    again_after: timedelta = timedelta(hours=72)


def warm_up_since(habit: WarmUp, since: datetime | None, last_send: datetime | None, now: datetime) -> datetime:
    """When the present warm-up began: now for an account that never sent or was idle too long."""
    if since is None or last_send is None or now - last_send >= habit.again_after:
        return now
    return min(since, now)


def warm_up_cap(habit: WarmUp, since: datetime, now: datetime) -> int | None:
    """The most sends in any day at this point of the warm-up; None once it is over."""
    day = max(now - since, timedelta()) // DAY
    return None if day >= habit.days else round(habit.first_day * habit.growth**day)


# After a warning: halve at once, climb back slowly


@dataclass(frozen=True, slots=True)
class Allowance:
    """The operator's limits for an account: maximum and minimum sends a minute, the burst, the caps and the warm-up."""

    ceiling: int
    floor: int = 1
    burst: int = 1
    caps: Caps = field(default_factory=Caps)
    warm_up: WarmUp | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.floor <= self.ceiling:
            raise ValueError(f"an allowance needs a floor from 1 up to its ceiling: {self}")

    def pace(self, rate: int) -> Pace:
        return Pace(rate=rate, burst=self.burst)


@dataclass(frozen=True, slots=True)
class SendRate:
    """The current rate a minute, and the stored facts about warnings."""

    rate: int
    cut_at: datetime | None = None
    back_off: timedelta = timedelta()
    clean_since: datetime | None = None


def cut(tempo: SendRate, allowance: Allowance, retry_after: timedelta, now: datetime) -> tuple[SendRate, datetime]:
    """The effect of an account-wide warning: the new rate, and the instant before which nothing is sent.

    Several warnings in one minute count as one. Each further one halves the rate and doubles the pause, from a minute
    to half an hour. If the platform asks for longer, the pause is that long.
    """
    rate = min(tempo.rate, allowance.ceiling)
    if tempo.cut_at is not None and now - tempo.cut_at < MINUTE:
        same = replace(tempo, rate=rate, cut_at=min(tempo.cut_at, now), clean_since=now)
        return same, now + max(retry_after, tempo.back_off, MINUTE)
    back_off = min(max(2 * tempo.back_off, MINUTE), LONGEST_BACK_OFF)
    slower = max(allowance.floor, rate // 2)
    return SendRate(slower, cut_at=now, back_off=back_off, clean_since=now), now + max(retry_after, back_off)


def climb(tempo: SendRate, allowance: Allowance, last_send: datetime | None, now: datetime) -> SendRate:
    """The rate after the clean stretches that have passed: one send a minute more for a stretch that had a send.

    Call at least once a stretch: of several that passed between calls, only one counts. The pause after a warning is
    forgotten when the ceiling is reached again.
    """
    if tempo.clean_since is None or tempo.clean_since > now:
        return replace(tempo, clean_since=now)
    stretches = (now - tempo.clean_since) // CLEAN_STRETCH
    if not stretches:
        return tempo
    earned = 1 if last_send is not None and last_send >= tempo.clean_since else 0
    rate = min(tempo.rate + earned, allowance.ceiling)
    back_off = timedelta() if rate == allowance.ceiling else tempo.back_off
    return replace(tempo, rate=rate, back_off=back_off, clean_since=tempo.clean_since + stretches * CLEAN_STRETCH)
