"""The messages an account may send a minute: halved at once after a warning, then slowly raised again (seed 002)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from tidegate.lanes.rules.pace_bucket import MINUTE, Pace
from tidegate.lanes.rules.send_caps import Caps, WarmUp

CLEAN_STRETCH = timedelta(minutes=2)
"""A stretch without a warning, and with a send, raises the rate by one send a minute."""

LONGEST_BACK_OFF = timedelta(minutes=30)


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


def burst_warning(burst: int) -> str | None:
    """A warning for the operator about a burst; None where there is none."""
    if burst <= 1:
        return None
    return (
        f"send_burst is {burst}: an account that rested sends {burst} messages at once, so in that minute more than "
        "max_send_per_minute. Platforms take that for spam sooner than a steady pace; 1 is the safe value."
    )


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
