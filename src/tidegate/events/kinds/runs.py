"""Runs of reminders. The subject is the reminder's name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.core.ids import RunId
from tidegate.events.event_data import EventData


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent(EventData):
    """Something happened to one run."""

    run: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOpened(RunEvent):
    """A run was opened; *targets* counts its groups, *parts* the messages to all of them."""

    kind = "run.opened"
    targets: int
    parts: int
    test: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRunning(RunEvent):
    """A run sends now."""

    kind = "run.running"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWaiting(RunEvent):
    """A run continues when its next send window opens."""

    kind = "run.waiting"
    opens_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNeedsAttention(RunEvent):
    """It is unknown whether some messages of a run were delivered; the operator decides about them."""

    kind = "run.needs_attention"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHeld(RunEvent):
    """A run sends nothing until then, because of *cause*."""

    kind = "run.held"
    cause: str
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPaused(RunEvent):
    """A run was paused; *by* is ``person``, ``everything``, ``upload`` or ``restore``."""

    kind = "run.paused"
    by: str
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResumed(RunEvent):
    """A paused run continues."""

    kind = "run.resumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResent(RunEvent):
    """A message of which it is unknown whether it was delivered is sent again.

    *target* is the title of the group that may have it twice.
    """

    kind = "run.resent"
    target: str
    part: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgressed(RunEvent):
    """How many messages of a run are delivered; at most once a second."""

    kind = "run.progressed"
    counts: dict[str, int]
    body: str
