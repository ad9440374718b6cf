"""When a reminder fires: once, by a cron line, or by a simple repeat, in a time zone of its own (seed 002)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time
from enum import StrEnum
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from tidegate.core.rules.wall_clock import instant_shown

USUAL_TIME = time(9)
"""The time of day of a schedule that gives none."""

_WEEKDAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")


class Every(StrEnum):
    """The simple repeats."""

    HOUR = "hour"
    DAY = "day"
    WEEKDAY = "weekday"  # from Monday to Friday
    WEEK = "week"  # on one weekday
    MONTH = "month"  # on one day of it


@dataclass(frozen=True, slots=True)
class Once:
    """At one time."""

    at: datetime  # of the wall clock, so without a zone


@dataclass(frozen=True, slots=True)
class Cron:
    """By a cron line of five fields; days are numbers or names such as FRI."""

    line: str

    def __post_init__(self) -> None:
        if len(self.line.split()) != 5:
            raise ValueError(f'A cron line has five fields, such as "0 9 * * FRI"; this is not one: "{self.line}".')
        try:
            next(CronSim(self.line, datetime(2000, 1, 1, tzinfo=UTC)))
        except CronSimError as problem:
            wrong = f'The cron line "{self.line}" cannot be read: {str(problem).lower()}.'
            raise ValueError(f'{wrong} Write one such as "0 9 * * FRI".') from problem
        except StopIteration as problem:
            raise ValueError(f'The cron line "{self.line}" names a day that never comes.') from problem


Schedule = Once | Cron


def repeat(every: Every, *, at: time = USUAL_TIME, on: str | int | None = None) -> Cron:
    """A simple repeat as the cron line it means; *on* is a weekday's name for a week, a day's number for a month.

    A month without that day is left out, as in cron. For the end of each month a cron line with L is needed.
    """
    if at.tzinfo is not None or at.second or at.microsecond:
        raise ValueError("The time of a repeat is an hour and a minute on the reminder's own clock, such as 09:30.")
    if on is not None and every not in (Every.WEEK, Every.MONTH):
        raise ValueError(f'A repeat every {every.value} takes no "on"; it belongs to every = "week" and "month".')
    clock = f"{at.minute} {at.hour}"
    match every:
        case Every.HOUR:
            return Cron(f"{at.minute} * * * *")
        case Every.DAY:
            return Cron(f"{clock} * * *")
        case Every.WEEKDAY:
            return Cron(f"{clock} * * MON-FRI")
        case Every.WEEK:
            return Cron(f"{clock} * * {'MON' if on is None else _weekday(on)}")
        case Every.MONTH:
            return Cron(f"{clock} {1 if on is None else _day_of_month(on)} * *")


def _weekday(on: str | int) -> str:
    """A weekday by its name, in full or the first three letters, or by its number as cron counts."""
    name = str(on).upper()
    days = {name: name for name in "01234567"} | {form: day[:3] for day in _WEEKDAYS for form in (day, day[:3])}
    if name not in days:
        raise ValueError(f'A week has no day "{on}"; write a name such as "FRI".')
    return days[name]


def _day_of_month(on: str | int) -> str:
    if str(on) not in map(str, range(1, 32)):
        raise ValueError(f'A month has no day "{on}"; write a number from 1 to 31.')
    return str(on)


def next_firing(schedule: Schedule, zone: ZoneInfo, after: datetime) -> datetime | None:
    """The first firing after that instant; None when there is none left.

    Where the clock jumps over the time, it fires right after the jump; where a time comes twice, it fires once.
    """
    if isinstance(schedule, Once):
        at = instant_shown(schedule.at, zone)
        return at if at > after else None
    # In an hour that comes twice, a firing found in the second pass belongs to the first, which is over.
    found = (one.astimezone(UTC) for one in CronSim(schedule.line, after.astimezone(zone)))
    return next((one for one in found if one > after), None)


def last_missed(schedule: Schedule, zone: ZoneInfo, due_at: datetime, now: datetime) -> datetime:
    """The firing to make up for when no worker was there at *due_at*: the newest one, since one is enough."""
    if isinstance(schedule, Once):
        return due_at
    reached: datetime = next(CronSim(schedule.line, (now.replace(microsecond=0)).astimezone(zone), reverse=True))
    latest = reached.astimezone(UTC)
    exactly = next_firing(schedule, zone, latest)
    return max(due_at, exactly if exactly is not None and exactly <= now else latest)
