"""A reminder as operators write it, TOML or JSON, parsed with a sentence for everything that is invalid."""

from __future__ import annotations

import datetime as calendar
import json
import tomllib
from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated, Any

import tomli_w
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tidegate.core.errors import BadInput
from tidegate.core.json_fields import Name, Named, Words
from tidegate.core.rules.terminal_text import toml_text
from tidegate.core.rules.wall_clock import zone_named
from tidegate.lanes.rules.send_hours import SendWindow
from tidegate.platforms.interface.uploads import MediaKind
from tidegate.reminders.definition import (
    BegunTarget,
    Reminder,
    ReminderPart,
    ReminderPolicies,
    Targets,
    WhenClosed,
    WhenOverlapping,
)
from tidegate.reminders.rules.placeholders import check_placeholders
from tidegate.reminders.rules.schedule import USUAL_TIME, Cron, Every, Once, Schedule, repeat
from tidegate.reminders.rules.send_states import WhenUnknown

LONGEST_TEXT = 4_096
"""In characters: Telegram's limit. Discord's is lower, and is checked separately."""

_YEARS = range(1970, 9999)
"""The years of dates that exist in every time zone; at the ends of the calendar some do not."""

_PICTURES = {".jpg", ".jpeg", ".png", ".webp"}
_VIDEOS = {".mp4", ".mov", ".m4v", ".webm"}

Hour = Annotated[int, Field(strict=True, ge=0, le=24)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=False)


def _with_usual_time(at: object) -> object:
    """A date alone is meant at the usual time of day."""
    if isinstance(at, str) and len(at) == len("2026-12-01"):
        return f"{at}T{USUAL_TIME}"
    if isinstance(at, calendar.date) and not isinstance(at, calendar.datetime):
        return calendar.datetime.combine(at, USUAL_TIME)
    return _not_counted(at)


def _not_counted(at: object) -> object:
    """A bare number would be read as seconds, which is never meant."""
    if isinstance(at, int | float):
        raise ValueError("write a date such as 2026-12-01T09:00:00, a time such as 09:30")  # noqa: TRY004 - what pydantic takes for a refusal
    return at


class WrittenPart(_Strict):
    """One message: a text, or a file with a caption."""

    text: Words | None = None
    media: Named | None = None
    caption: Words | None = None
    kind: MediaKind | None = None


class WrittenSchedule(_Strict):
    """When it fires: one of cron, at and every; without any it is fired by hand."""

    cron: str | None = None
    at: Annotated[calendar.datetime | None, BeforeValidator(_with_usual_time)] = None
    every: Every | None = None
    time: Annotated[calendar.time | None, BeforeValidator(_not_counted)] = None
    on: str | int | None = None


class WrittenPolicies(BaseModel):
    """What to do in exceptional cases, as a document or a form says it."""

    when_window_closes: WhenClosed = WhenClosed.STOP
    when_unknown: WhenUnknown = WhenUnknown.HOLD
    when_fired_late: WhenClosed = WhenClosed.STOP
    begun_target: BegunTarget = BegunTarget.FINISH
    when_overlapping: WhenOverlapping = WhenOverlapping.QUEUE


class WrittenReminder(_Strict, WrittenPolicies):
    """A reminder whose fields have not been checked against each other yet."""

    name: Name
    account: Named
    targets: tuple[Named, ...] | None = None
    list: Named | None = None
    all: Annotated[bool, Field(strict=True)] = False
    schedule: WrittenSchedule | None = None
    timezone: str = "UTC"
    delivery_window_start_hour: Hour = 6
    delivery_window_end_hour: Hour = 18
    enabled: Annotated[bool, Field(strict=True)] = True
    parts: tuple[WrittenPart, ...] = Field(min_length=1)


def read_reminder(text: str) -> Reminder:
    """The reminder in a TOML or JSON document; ``BadInput`` with a sentence for each thing that is wrong."""
    text = text.removeprefix("\ufeff")  # some editors begin a file with it
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except json.JSONDecodeError as problem:
        raise BadInput(f"The reminder is not valid JSON: {problem}.") from problem
    except tomllib.TOMLDecodeError as problem:
        raise BadInput(f"The reminder is not valid TOML: {problem}.") from problem
    except RecursionError as problem:
        raise BadInput("The reminder has lists within lists, deeper than anything a reminder is.") from problem
    assert isinstance(found, dict)  # JSON that begins with a brace is an object, and TOML is always a table
    return parse_reminder(found)


def parse_reminder(document: Mapping[str, Any]) -> Reminder:
    """The reminder in a document that is parsed already."""
    try:
        written = WrittenReminder.model_validate(document)
    except ValidationError as problem:
        wrong = [one for one in problem.errors() if one["type"] != "too_short" or not one["input"]]
        raise BadInput("\n".join(map(_sentence, wrong))) from problem
    return as_reminder(written)


def as_reminder(written: WrittenReminder) -> Reminder:
    """The checked reminder; ``BadInput`` with a sentence where its fields contradict each other."""
    try:
        return Reminder(
            name=written.name,
            account=written.account,
            targets=_targets(written),
            parts=[_part(number, part) for number, part in enumerate(written.parts, 1)],
            window=SendWindow(
                written.delivery_window_start_hour, written.delivery_window_end_hour, zone_named(written.timezone)
            ),
            schedule=_schedule(written.schedule),
            policies=ReminderPolicies(
                written.when_window_closes,
                written.when_fired_late,
                written.when_unknown,
                written.begun_target,
                written.when_overlapping,
            ),
            enabled=written.enabled,
        )
    except ValueError as problem:
        raise BadInput(str(problem)) from problem


def _sentence(problem: Any) -> str:
    """One thing that is wrong, with its place as the operator wrote it."""
    place = ".".join(str(step + 1 if isinstance(step, int) else step) for step in problem["loc"])
    match problem["type"]:
        case "missing":
            return f"The reminder needs {place}."
        case "extra_forbidden":
            return f"{place} is nothing a reminder has; see docs/reminders.md for what it may have."
        case "too_short":
            return f"{place} is empty, so there would be nothing to send."
        case "string_pattern_mismatch":
            return f"{place} cannot be {problem['input']!r}: it has characters that cannot stand there."
        case _:
            message = problem["msg"].removeprefix("Value error, ").replace("valid tuple", "list")
            return f"{place} cannot be {problem['input']!r}: {message[0].lower()}{message[1:]}."


def _targets(written: WrittenReminder) -> Targets:
    given = [written.targets is not None, written.list is not None, written.all]
    if sum(given) != 1:
        raise ValueError(
            'A reminder goes to named groups (targets = ["…"]), to a saved list (list = "…") or to all (all = true): '
            "give exactly one of the three."
        )
    if written.targets is not None and not written.targets:
        raise ValueError("The list of targets is empty, so the reminder would go to nobody.")
    return Targets(tuple(dict.fromkeys(written.targets or ())), written.list, written.all)


def _part(number: int, part: WrittenPart) -> ReminderPart:
    if (part.text is None) == (part.media is None):
        raise ValueError(f"Part {number} needs either a text or a media file.")
    if part.media is None and (part.caption is not None or part.kind is not None):
        raise ValueError(f"Part {number} is a text; a caption and a kind belong to a media file.")
    text = part.text if part.text is not None else part.caption or ""
    if part.media is None and not text.strip():
        raise ValueError(f"Part {number} is empty.")
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"Part {number} has {len(text)} characters; {LONGEST_TEXT} is the most a message takes.")
    try:
        check_placeholders(text)
    except ValueError as problem:
        raise ValueError(f"Part {number} {problem}") from problem
    kind = None if part.media is None else part.kind or kind_of(part.media)
    return ReminderPart(text, part.media, kind)


def kind_of(media: str) -> MediaKind:
    """How a file is shown by default, by the extension of its name."""
    ending = PurePath(media).suffix.lower()
    if ending in _PICTURES:
        return MediaKind.PICTURE
    return MediaKind.VIDEO if ending in _VIDEOS else MediaKind.DOCUMENT


def _schedule(written: WrittenSchedule | None) -> Schedule | None:
    if written is None:
        return None
    if sum(given is not None for given in (written.cron, written.at, written.every)) != 1:
        raise ValueError('A schedule is one of cron = "…", at = DATE and every = "day".')
    if written.every is None and (written.time is not None or written.on is not None):
        raise ValueError('A time and a day ("time", "on") belong to a schedule with every = "…".')
    if written.cron is not None:
        return Cron(written.cron)
    if written.every is not None:
        return repeat(written.every, at=written.time or USUAL_TIME, on=written.on)
    assert written.at is not None
    if written.at.tzinfo is not None:
        raise ValueError(
            "The date of a schedule is read off the clock in the reminder's timezone; leave the offset out."
        )
    if written.at.year not in _YEARS:
        raise ValueError(
            f"The schedule's date lies in the year {written.at.year}; give one from {_YEARS[0]} to {_YEARS[-1]}."
        )
    return Once(written.at)


def as_toml(reminder: Reminder) -> str:
    """The reminder as a TOML document, safe to print, which read again gives the same reminder."""
    document = as_written(reminder)
    if isinstance(reminder.schedule, Once):
        document["schedule"] = {"at": reminder.schedule.at}
    return toml_text(tomli_w.dumps(document))


def as_written(reminder: Reminder) -> dict[str, Any]:
    """The reminder as a JSON document, complete, which read again gives the same reminder."""
    targets: dict[str, Any] = {"targets": list(reminder.targets.named)}
    if reminder.targets.list_name is not None:
        targets = {"list": reminder.targets.list_name}
    elif reminder.targets.everyone:
        targets = {"all": True}
    schedule: dict[str, Any] = {}
    if isinstance(reminder.schedule, Cron):
        schedule = {"schedule": {"cron": reminder.schedule.line}}
    elif isinstance(reminder.schedule, Once):
        schedule = {"schedule": {"at": reminder.schedule.at.isoformat()}}
    return {
        "name": reminder.name,
        "account": reminder.account,
        **targets,
        **schedule,
        **({} if reminder.enabled else {"enabled": False}),
        "timezone": reminder.window.zone.key,
        "delivery_window_start_hour": reminder.window.start_hour,
        "delivery_window_end_hour": reminder.window.end_hour,
        "when_window_closes": reminder.policies.when_window_closes.value,
        "when_unknown": reminder.policies.when_unknown.value,
        "when_fired_late": reminder.policies.when_fired_late.value,
        "begun_target": reminder.policies.begun_target.value,
        "when_overlapping": reminder.policies.when_overlapping.value,
        "parts": [_part_as_written(part) for part in reminder.parts],
    }


def _part_as_written(part: ReminderPart) -> dict[str, Any]:
    if part.media is None:
        return {"text": part.text}
    assert part.kind is not None
    return {"media": part.media, "caption": part.text, "kind": part.kind.value}
