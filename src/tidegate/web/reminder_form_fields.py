"""The reminder form: its inputs, and the reminder document that they describe."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import BaseModel

from tidegate.core.errors import BadInput
from tidegate.core.ids import ReminderId
from tidegate.core.rules.wall_clock import zone_named
from tidegate.lanes.rules.send_hours import SendWindow
from tidegate.reminders.reminder_parser import WrittenPolicies
from tidegate.reminders.rules.placeholders import check_placeholders
from tidegate.reminders.rules.schedule import Cron, Every

_CLOCK = r"(?P<minute>\d{1,2}) (?P<hour>\d{1,2})"
_REPEATS = {
    Every.HOUR: re.compile(r"(?P<minute>\d{1,2}) \* \* \* \*"),
    Every.DAY: re.compile(rf"{_CLOCK} \* \* \*"),
    Every.WEEKDAY: re.compile(rf"{_CLOCK} \* \* MON-FRI"),
    Every.WEEK: re.compile(rf"{_CLOCK} \* \* (?P<on>[A-Z]{{3}})"),
    Every.MONTH: re.compile(rf"{_CLOCK} (?P<on>\d{{1,2}}) \* \*"),
}
"""The cron lines that simple repeats mean."""

WEEKDAYS = {
    "MON": "Monday", "TUE": "Tuesday", "WED": "Wednesday", "THU": "Thursday", "FRI": "Friday", "SAT": "Saturday",
    "SUN": "Sunday",
}  # fmt: skip
"""The days as cron names them, and as people do."""


class ReminderForm(WrittenPolicies, BaseModel):
    """The inputs. *text*, *file* and *sha256* are lists with one entry per message; an empty entry is no message."""

    reminder: str = ""
    name: str = ""
    account: str = ""
    to: Literal["all", "list", "named"] = "named"
    saved_list: str = ""
    group: list[str] = []
    others: str = ""
    text: list[str] = []
    file: list[str] = []
    sha256: list[str] = []
    fires: Literal["repeat", "once", "cron", "hand"] = "repeat"
    every: Every = Every.DAY
    time: str = "09:00"
    weekday: str = ""
    day: str = ""
    at: str = ""
    cron: str = ""
    timezone: str = ""
    start_hour: int = 6
    end_hour: int = 18
    enabled: bool = True

    @property
    def parts(self) -> list[tuple[str, str, str]]:
        """Each message: its text or caption, the name of its file, and the file's content by its hash."""
        if not len(self.text) == len(self.file) == len(self.sha256):
            raise BadInput("The messages of the form do not belong together. Reload the page.")
        messages = zip(self.text, self.file, self.sha256, strict=True)
        return [(_with_line_feeds(text), file, sha) for text, file, sha in messages if text.strip() or file]

    @property
    def files(self) -> dict[str, bytes]:
        """The files that the messages name, by the hash of their content."""
        return {file: _hash(sha) for _, file, sha in self.parts if file}

    def document(self) -> dict[str, Any]:
        """The reminder as ``written.checked`` reads it; ``BadInput`` where the inputs say two things."""
        self._refuse_contradictions()
        self._refuse_missing()
        return {
            "name": self.name.strip(),
            "account": self.account,
            **self._targets(),
            **self._schedule(),
            "timezone": self.timezone.strip() or "UTC",
            "enabled": self.enabled,
            "delivery_window_start_hour": self.start_hour,
            "delivery_window_end_hour": self.end_hour,
            **{name: getattr(self, name) for name in WrittenPolicies.model_fields},
            "parts": [{"media": file, "caption": text} if file else {"text": text} for text, file, _ in self.parts],
        }

    def _refuse_contradictions(self) -> None:
        """Refuse inputs of a choice that was not taken: they would be shown but not be used."""
        if self.to != "named" and (named := self._named()):
            raise BadInput(
                f'You chose "{_CHOICES[self.to]}", and {len(named)} groups are selected or written down as well: '
                f'{_some(named)}. Choose "{_CHOICES["named"]}" to send it to them alone, or take them out.'
            )
        if self.to != "list" and self.saved_list:
            raise BadInput(_two_things(self.to, "list", f'the list "{self.saved_list}"'))
        if self.fires != "once" and self.at:
            raise BadInput(_two_things(self.fires, "once", f"the date {self.at.replace('T', ' ')}"))
        if self.fires != "cron" and self.cron.strip():
            raise BadInput(_two_things(self.fires, "cron", f'the cron expression "{self.cron.strip()}"'))
        every = self.every if self.fires == "repeat" else None
        if self.weekday and every is not Every.WEEK:
            raise BadInput(_of_another_repeat(self.weekday, "weekday", "week", every or _CHOICES[self.fires]))
        if self.day and every is not Every.MONTH:
            raise BadInput(_of_another_repeat(self.day, "day of the month", "month", every or _CHOICES[self.fires]))

    def _refuse_missing(self) -> None:
        """Say in the words of the form what is not filled in."""
        field = self.faulty_field()
        if field in _MISSING and not (field == "message-text" and self.parts):
            raise BadInput(_MISSING[field])

    def _named(self) -> list[str]:
        others = [line.strip() for line in self.others.splitlines() if line.strip()]
        return list(dict.fromkeys([*self.group, *others]))

    def _targets(self) -> dict[str, Any]:
        if self.to == "all":
            return {"all": True}
        if self.to == "list":
            return {"list": self.saved_list}
        return {"targets": self._named()}

    def _schedule(self) -> dict[str, Any]:
        match self.fires:
            case "hand":
                return {}
            case "once":
                return {"schedule": {"at": self.at}}
            case "cron":
                return {"schedule": {"cron": self.cron.strip()}}
            case "repeat":
                on = {Every.WEEK: self.weekday, Every.MONTH: self.day}.get(self.every)
                return {"schedule": {"every": self.every, "time": self.time or "09:00", **({"on": on} if on else {})}}

    def faulty_field(self) -> str:
        """The id of the first input that cannot be taken as it is; empty where each of them can by itself."""
        checks: list[tuple[str, Callable[[], object]]] = [
            ("name", lambda: _require(self.name.strip())),
            ("message-text", lambda: _require(self.parts)),
            ("message-text", self._check_placeholders),
            ("find-group", lambda: _require(self.to != "named" or self._named())),
            ("saved-list", lambda: _require(self.to != "list" or self.saved_list)),
            ("weekday", lambda: _require(self._repeats() is not Every.WEEK or self.weekday)),
            ("day", lambda: _require(self._repeats() is not Every.MONTH or self.day)),
            ("at", lambda: _require(self.fires != "once" or self.at)),
            ("cron", lambda: self.fires != "cron" or Cron(self.cron.strip())),
            ("timezone", lambda: zone_named(self.timezone.strip() or "UTC")),
            ("start-hour", lambda: SendWindow(self.start_hour, self.end_hour, zone_named("UTC"))),
        ]
        return next((field for field, check in checks if _is_refused(check)), "")

    def _check_placeholders(self) -> None:
        for text, _, _ in self.parts:
            check_placeholders(text)

    def _repeats(self) -> Every | None:
        return self.every if self.fires == "repeat" else None


def _require(given: object) -> None:
    if not given:
        raise ValueError


def _is_refused(check: Callable[[], object]) -> bool:
    try:
        check()
    except (ValueError, BadInput):
        return True
    return False


def _with_line_feeds(text: str) -> str:
    """Browsers send the lines of a form with CR and LF; a message has LF alone."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


_CHOICES = {
    "named": "Selected groups", "list": "A list of groups", "all": "All groups this account can post in",
    "repeat": "Repeating", "once": "Once", "cron": "Custom (cron)", "hand": "Manual",
}  # fmt: skip
"""The choices as the form words them."""

_MISSING = {
    "name": "Give the reminder a name.",
    "message-text": "Write a message, or attach a file.",
    "find-group": "Select groups, or choose a list or all groups.",
    "saved-list": "Choose a list.",
    "weekday": "Choose the day of the week.",
    "day": "Choose the day of the month.",
    "at": "Choose a date and a time.",
}
"""What is said of an input that is not filled in."""

_NAMED_AT_MOST = 5


def _some(names: list[str]) -> str:
    """The first names, and how many others there are."""
    more = len(names) - _NAMED_AT_MOST
    return ", ".join(f'"{name}"' for name in names[:_NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")


def _two_things(taken: str, other: str, given: str) -> str:
    return (
        f'You chose "{_CHOICES[taken]}", and gave {given} as well. Choose "{_CHOICES[other]}" to use it, or empty it.'
    )


def _of_another_repeat(given: str, what: str, every: str, taken: str) -> str:
    return f'The {what} {given} is for one that is sent every {every}, and you chose "{taken}". Change one of them.'


def form_of(number: ReminderId, written: Mapping[str, Any], files: Mapping[str, bytes]) -> ReminderForm:
    """The inputs for a stored reminder document."""
    parts = written["parts"]
    to: dict[str, Any] = {"to": "all"}
    if written.get("list"):
        to = {"to": "list", "saved_list": written["list"]}
    elif written.get("targets"):
        to = {"to": "named", "group": list(written["targets"])}
    return ReminderForm(
        reminder=str(number),
        name=written["name"],
        account=written["account"],
        **to,
        text=[part.get("text") or part.get("caption") or "" for part in parts],
        file=[part.get("media") or "" for part in parts],
        sha256=[files[part["media"]].hex() if part.get("media") else "" for part in parts],
        **_fires(written.get("schedule")),
        timezone=written["timezone"],
        enabled=written.get("enabled", True),
        start_hour=written["delivery_window_start_hour"],
        end_hour=written["delivery_window_end_hour"],
        **{name: written[name] for name in WrittenPolicies.model_fields if name in written},
    )


def _fires(schedule: Mapping[str, Any] | None) -> dict[str, Any]:
    """A cron expression that equals a simple repeat is shown as the repeat."""
    if not schedule:
        return {"fires": "hand"}
    if "at" in schedule:
        return {"fires": "once", "at": str(schedule["at"])[:16]}
    line = str(schedule["cron"])
    for every, shape in _REPEATS.items():
        if found := shape.fullmatch(line):
            given = found.groupdict()
            clock = f"{int(given.get('hour') or 9):02}:{int(given['minute']):02}"
            on = {Every.WEEK: "weekday", Every.MONTH: "day"}.get(every)
            return {"fires": "repeat", "every": every, "time": clock, **({on: given["on"]} if on else {})}
    return {"fires": "cron", "cron": line}


def _hash(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise BadInput("A file of the form cannot be identified. Choose it again.") from None
