"""When an account may be raised to the next standing, and why. A person decides; this only offers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from tidegate.core.account import Standing
from tidegate.core.platform import Platform

LONG_USED = timedelta(days=90)
"""How old an account of standing normal is before established is offered."""

QUIET_FOR = timedelta(days=14)
"""How long no warning of the platform may have come."""


@dataclass(frozen=True, slots=True)
class AccountRecord:
    """What is known of an account."""

    platform: Platform
    standing: Standing
    age: timedelta  # since it was added to Tidegate
    has_sent: bool  # whether it ever sent
    is_warming_up: bool
    warned_ago: timedelta | None  # how long ago the platform last warned it


@dataclass(frozen=True, slots=True)
class StandingOffer:
    """The standing that an account may be given, and the reason."""

    standing: Standing
    reason: str


def standing_offer(record: AccountRecord, warm_up_for: timedelta) -> StandingOffer | None:
    """What to offer, None for nothing. Where the standing does not set the pace, nothing."""
    warned = record.warned_ago is not None and record.warned_ago < QUIET_FOR
    if not record.platform.paced_by_standing or not record.has_sent or warned:
        return None
    if record.standing is Standing.NEW and not record.is_warming_up and record.age >= warm_up_for:
        return StandingOffer(
            Standing.NORMAL, f"Its warm-up is over, without a warning in the last {QUIET_FOR.days} days."
        )
    if record.standing is Standing.NORMAL and record.age >= LONG_USED:
        return StandingOffer(
            Standing.ESTABLISHED,
            f"It has been in use for {LONG_USED.days} days, without a warning in the last {QUIET_FOR.days}.",
        )
    return None
