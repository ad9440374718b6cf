"""A reminder as the page's inputs have it, and the document it is written as; the same inputs make and change one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel

from tidegate.errors import BadInput
from tidegate.reminders.reminder import Begun, WhenClosed, WhenOverlapping
from tidegate.rules.delivering import WhenUnknown
from tidegate.rules.scheduling import Every

_CLOCK = r"(?P<minute>\d{1,2}) (?P<hour>\d{1,2})"
_REPEATS = {
    Every.HOUR: re.compile(r"(?P<minute>\d{1,2}) \* \* \* \*"),
    Every.DAY: re.compile(rf"{_CLOCK} \* \* \*"),
    Every.WEEKDAY: re.compile(rf"{_CLOCK} \* \* MON-FRI"),
    Every.WEEK: re.compile(rf"{_CLOCK} \* \* (?P<on>[A-Z]{{3}})"),
    Every.MONTH: re.compile(rf"{_CLOCK} (?P<on>\d{{1,2}}) \* \*"),
}
"""The cron lines that simple repeats mean."""

WEEKDAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")


class ReminderForm(BaseModel):
    """The inputs. *text*, *file* and *sha256* are one message each, side by side; what is empty is not one."""

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
    weekday: str = "MON"
    day: str = "1"
    at: str = ""
    cron: str = ""
    timezone: str = ""
    start_hour: int = 6
    end_hour: int = 18
    when_window_closes: WhenClosed = WhenClosed.STOP
    when_fired_late: WhenClosed = WhenClosed.STOP
    when_unknown: WhenUnknown = WhenUnknown.HOLD
    begun_target: Begun = Begun.FINISH
    when_overlapping: WhenOverlapping = WhenOverlapping.QUEUE

    @property
    def parts(self) -> list[tuple[str, str, str]]:
        """Each message: its text or caption, the name of its file, and the file's content by its hash."""
        if not len(self.text) == len(self.file) == len(self.sha256):
            raise BadInput("The messages of the form do not belong together. Load the page again.")
        messages = zip(self.text, self.file, self.sha256, strict=True)
        return [(text, file, sha) for text, file, sha in messages if text.strip() or file]

    @property
    def files(self) -> dict[str, bytes]:
        """The files that the messages name, by the hash of their content."""
        return {file: _hash(sha) for _, file, sha in self.parts if file}

    def document(self) -> dict[str, Any]:
        """The reminder as ``written.checked`` reads it."""
        return {
            "name": self.name.strip(),
            "account": self.account,
            **self._targets(),
            **self._schedule(),
            "timezone": self.timezone.strip() or "UTC",
            "delivery_window_start_hour": self.start_hour,
            "delivery_window_end_hour": self.end_hour,
            "when_window_closes": self.when_window_closes,
            "when_fired_late": self.when_fired_late,
            "when_unknown": self.when_unknown,
            "begun_target": self.begun_target,
            "when_overlapping": self.when_overlapping,
            "parts": [{"media": file, "caption": text} if file else {"text": text} for text, file, _ in self.parts],
        }

    def _targets(self) -> dict[str, Any]:
        if self.to == "all":
            return {"all": True}
        if self.to == "list":
            return {"list": self.saved_list}
        others = [line.strip() for line in self.others.splitlines() if line.strip()]
        return {"targets": list(dict.fromkeys([*self.group, *others]))}

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


def form_of(number: int, written: Mapping[str, Any], files: Mapping[str, bytes]) -> ReminderForm:
    """The inputs that a reminder's document would have come from."""
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
        start_hour=written["delivery_window_start_hour"],
        end_hour=written["delivery_window_end_hour"],
        **{name: written[name] for name in _POLICIES if name in written},
    )


_POLICIES = ("when_window_closes", "when_fired_late", "when_unknown", "begun_target", "when_overlapping")


def _fires(schedule: Mapping[str, Any] | None) -> dict[str, Any]:
    """A cron line that a simple repeat means is shown as the repeat."""
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
        raise BadInput("A file of the form cannot be told. Choose it again.") from None
