"""A schedule in plain English words, such as "Every Friday at 09:00"."""

from __future__ import annotations

import re
from datetime import datetime

from tidegate.reminders.rules.schedule import Once, Schedule

BY_HAND = "Only when sent manually"

_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SHORT = {day[:3].upper(): number for number, day in enumerate(_DAYS[:7])}
_NUMBER = re.compile(r"\d{1,2}")
_STEP = re.compile(r"\*/(\d{1,2})")


def schedule_in_words(schedule: Schedule | None) -> str:
    """When a reminder is sent, as the beginning of a sentence. A cron line that words would twist is quoted."""
    if schedule is None:
        return BY_HAND
    if isinstance(schedule, Once):
        return f"Once, on {date_in_words(schedule.at)} at {schedule.at:%H:%M}"
    minute, hour, day, month, weekday = schedule.line.upper().split()
    time, days = _time(minute, hour), _days(day, weekday)
    if month != "*" or time is None or days is None:
        return f"By the cron expression {schedule.line}"
    if not _NUMBER.fullmatch(hour):
        return time if days == "Every day" else f"{time}, {days[0].lower()}{days[1:]}"
    return f"{days} {time}"


def date_in_words(at: datetime) -> str:
    """A day with its weekday, such as "Friday, 4 December 2026"."""
    return f"{at:%A}, {at.day} {at:%B} {at.year:04}"


def _time(minute: str, hour: str) -> str | None:
    """At which time of the day, or how often within it; None where words would be longer than the line."""
    if _NUMBER.fullmatch(minute) and _NUMBER.fullmatch(hour):
        return f"at {int(hour):02}:{int(minute):02}"
    if _NUMBER.fullmatch(minute) and hour == "*":
        return f"Every hour at minute {int(minute)}"
    if hour == "*" and minute == "*":
        return "Every minute"
    step = _STEP.fullmatch(minute)
    if hour == "*" and step and int(step[1]) > 1 and 60 % int(step[1]) == 0:
        return f"Every {step[1]} minutes"
    step = _STEP.fullmatch(hour)
    if _NUMBER.fullmatch(minute) and step and int(step[1]) > 1 and 24 % int(step[1]) == 0:
        return f"Every {step[1]} hours from {int(minute) // 60:02}:{int(minute):02}"
    return None


def _days(day: str, weekday: str) -> str | None:
    """On which days; None where a line limits them by both its fields, or otherwise than by a day or a weekday."""
    if day == "*" and weekday == "*":
        return "Every day"
    if day == "*":
        return _weekdays(weekday)
    if weekday != "*":
        return None
    if day == "L":
        return "On the last day of every month"
    if _NUMBER.fullmatch(day):
        rare = " that has one" if int(day) > 28 else ""
        return f"On the {_ordinal(int(day))} of every month{rare}"
    return None


def _weekdays(field: str) -> str | None:
    numbers: list[int] = []
    for piece in field.split(","):
        ends = [_weekday(end) for end in piece.split("-")]
        if None in ends or len(ends) > 2:
            return None
        first, last = ends[0], ends[-1]
        assert first is not None
        assert last is not None
        numbers += range(first, (last if last >= first else last + 7) + 1)
    days = {number % 7 for number in numbers}
    if len(days) == 7:
        return "Every day"
    if days == {1, 2, 3, 4, 5}:
        return "Every weekday (Monday to Friday)"
    names = [_DAYS[number] for number in sorted(days, key=lambda number: (number - 1) % 7)]
    return "Every " + (names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}")


def _weekday(written: str) -> int | None:
    if written in _SHORT:
        return _SHORT[written]
    return int(written) if written in "01234567" and len(written) == 1 else None


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number not in (11, 12, 13) else "th"
    return f"{number}{ending}"
