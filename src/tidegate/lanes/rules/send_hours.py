"""When a run may send: the hours of a day in the reminder's own time zone (seed 002).

A window is stored as two hours of the wall clock and always compared as instants. On days when the wall clock changes,
it is an hour longer or shorter, or does not exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from tidegate.core.rules.wall_clock import instant_shown

DAY = timedelta(days=1)

GRACE = timedelta(seconds=60)
"""How long after the window has closed a target that was started may still get its other parts."""

LONGEST_WITHOUT = 400
"""Days without a window after which the search for one stops; a clock change removes one or two."""


class WindowDay(NamedTuple):
    """One day's window, as instants: open from *opens* on, and closed at *closes* itself."""

    opens: datetime
    closes: datetime


@dataclass(frozen=True, slots=True)
class SendWindow:
    """The hours from *start_hour* up to *end_hour*, where 24 is the midnight that ends the day."""

    start_hour: int
    end_hour: int
    zone: ZoneInfo

    def __post_init__(self) -> None:
        if not 0 <= self.start_hour < self.end_hour <= 24:
            raise ValueError(
                f"Delivery hours run from {self.start_hour} to {self.end_hour}; the start must be 0 or later, the end "
                "after it and at most 24. A window across midnight is not possible: use two reminders."
            )

    def on(self, day: date) -> WindowDay | None:
        """The window of a calendar day; None where the wall clock skips all of it."""
        opens = _instant(day, self.start_hour, self.zone)
        closes = _instant(day, self.end_hour, self.zone)
        return WindowDay(opens, closes) if opens < closes else None

    def openings(self, now: datetime) -> Iterator[WindowDay]:
        """The windows that are open at *now* or open later, in order; endless unless no window exists."""
        day, empty = now.astimezone(self.zone).date() - DAY, 0
        while empty < LONGEST_WITHOUT:
            opening = self.on(day)
            empty = empty + 1 if opening is None else 0
            if opening is not None and now < opening.closes:
                yield opening
            day += DAY

    def is_open(self, now: datetime) -> bool:
        """Whether *now* lies inside, its first instant included and its last one not."""
        return self.next(now).opens <= now

    def next(self, now: datetime) -> WindowDay:
        """The window that is open at *now*, or the first that opens afterwards."""
        return next(self.openings(now))

    def of_firing(self, fired_at: datetime) -> WindowDay | None:
        """The window of the day a run was fired on, even when that has closed already (the seed's ``windowEndAt``)."""
        return self.on(fired_at.astimezone(self.zone).date())

    def __str__(self) -> str:
        return f"{self.start_hour:02}:00 to {self.end_hour:02}:00 ({self.zone.key})"


def _instant(day: date, hour: int, zone: ZoneInfo) -> datetime:
    shown = datetime(day.year, day.month, day.day) + timedelta(hours=hour)  # noqa: DTZ001 - what the wall clock shows
    return instant_shown(shown, zone)
