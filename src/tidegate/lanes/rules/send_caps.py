"""How many messages an account may send in an hour and a day: the operator's caps and the warm-up (seed 002).

The SQL function ``claim_send`` implements ``held_back_until`` as well. A test runs both on the same histories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


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
