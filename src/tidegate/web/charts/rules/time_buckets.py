"""The stretches of time that a chart shows, in the browser's time zone, and the sums of hours in each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from tidegate.core.rules.wall_clock import instant_shown

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
HOURS_OF_A_DAY = 24


class ChartRange(StrEnum):
    """How far back a chart reaches."""

    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"

    @property
    def words(self) -> str:
        return {"24h": "24 hours", "7d": "7 days", "30d": "30 days"}[self.value]


@dataclass(frozen=True, slots=True)
class TimeBucket:
    """A stretch of time, its *end* excluded; *label* is short for the axis, *words* name it in full."""

    start: datetime
    end: datetime
    label: str
    words: str


def buckets_of(span: ChartRange, now: datetime, zone: ZoneInfo) -> list[TimeBucket]:
    """The hours of the last day, or the days of the last week or month; the one of *now* is the last."""
    if span is ChartRange.DAY:
        return _hours(now, zone)
    return days_until(now, 7 if span is ChartRange.WEEK else 30, zone)


def _hours(now: datetime, zone: ZoneInfo) -> list[TimeBucket]:
    last = hour_of(now)
    starts = [last - number * HOUR for number in reversed(range(HOURS_OF_A_DAY))]
    return [_hour(start, zone) for start in starts]


def _hour(start: datetime, zone: ZoneInfo) -> TimeBucket:
    shown = start.astimezone(zone)
    return TimeBucket(start, start + HOUR, f"{shown:%H:%M}", f"{shown:%A} {shown:%H:%M}")


def days_until(now: datetime, count: int, zone: ZoneInfo) -> list[TimeBucket]:
    """The *count* last days of the wall clock; a day on which it changes is an hour shorter or longer."""
    today = now.astimezone(zone).date()
    return [_day(today - number * DAY, zone) for number in reversed(range(count))]


def _day(day: date, zone: ZoneInfo) -> TimeBucket:
    start, end = midnight(day, zone), midnight(day + DAY, zone)
    return TimeBucket(start, end, f"{day.day} {day:%b}", f"{day:%A}, {day.day} {day:%B}")


def midnight(day: date, zone: ZoneInfo) -> datetime:
    """The instant at which a day of the wall clock begins."""
    return instant_shown(datetime(day.year, day.month, day.day), zone)  # noqa: DTZ001 - what the wall clock shows


def hour_of(moment: datetime) -> datetime:
    """The hour of UTC in which an instant is: sums are kept by these."""
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def summed(buckets: Sequence[TimeBucket], hours: Iterable[tuple[datetime, int]]) -> list[int]:
    """The sum of each bucket. An hour counts where it begins, and one outside of all buckets does not."""
    starts = [bucket.start for bucket in buckets]
    sums = [0] * len(buckets)
    for hour, value in hours:
        place = bisect_right(starts, hour) - 1
        if place >= 0 and hour < buckets[place].end:
            sums[place] += value
    return sums


def by_hour_of_day(hours: Iterable[tuple[datetime, int]], zone: ZoneInfo) -> list[int]:
    """The sums of the 24 hours of the wall clock, over all days."""
    sums = [0] * HOURS_OF_A_DAY
    for hour, value in hours:
        sums[hour.astimezone(zone).hour] += value
    return sums
