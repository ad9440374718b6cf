"""A reminder as a value: what to say, to which groups, when, and what to do when things do not go to plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidegate.port.media import MediaKind
from tidegate.rules.delivering import WhenUnknown
from tidegate.rules.scheduling import Schedule
from tidegate.rules.window import Window

PLACEHOLDERS = ("group", "date", "time", "reminder")
"""What stands for something else in texts and captions: ``{group}`` and the like. ``{{`` is a brace."""


class WhenClosed(StrEnum):
    """What becomes of the rest of a run when its window closes, or of all of it when it was fired too late."""

    STOP = "stop"
    RESUME_NEXT = "resume_next"


class Begun(StrEnum):
    """What becomes of a target that has begun when the window closes."""

    FINISH = "finish"
    STRICT = "strict"


class WhenOverlapping(StrEnum):
    """What becomes of a firing while parts of the one before are left."""

    QUEUE = "queue"
    SKIP_OLD = "skip_old"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class ReminderPart:
    """One message: a text, or a file with a caption. *media* is the file's name as the operator wrote it."""

    text: str = ""
    media: str | None = None
    kind: MediaKind | None = None


@dataclass(frozen=True, slots=True)
class Targets:
    """The groups a reminder goes to: named one by one, by a saved list, or all the account may post to."""

    named: Sequence[str] = ()
    list_name: str | None = None
    everyone: bool = False


@dataclass(frozen=True, slots=True)
class Policies:
    """What the operator wants done when things do not go to plan."""

    when_window_closes: WhenClosed = WhenClosed.STOP
    when_fired_late: WhenClosed = WhenClosed.STOP
    when_unknown: WhenUnknown = WhenUnknown.HOLD
    begun_target: Begun = Begun.FINISH
    when_overlapping: WhenOverlapping = WhenOverlapping.QUEUE


@dataclass(frozen=True, slots=True)
class Reminder:
    """A reminder, checked. Without a *schedule* it is fired by hand."""

    name: str
    account: str
    targets: Targets
    parts: Sequence[ReminderPart]
    window: Window
    schedule: Schedule | None
    policies: Policies
