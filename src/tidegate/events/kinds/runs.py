"""Runs of reminders. The subject is the reminder's name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.core.ids import RunId
from tidegate.events.event_data import EventData, event_kind


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent(EventData):
    """Something happened to one run."""

    run: RunId


@event_kind("run.opened")
class RunOpened(RunEvent):
    """A run was opened; *targets* counts its groups, *parts* the messages to all of them."""

    targets: int
    parts: int
    test: bool


@event_kind("run.running")
class RunRunning(RunEvent):
    """A run sends now."""


@event_kind("run.waiting")
class RunWaiting(RunEvent):
    """A run continues when its next send window opens."""

    opens_at: datetime


@event_kind("run.needs_attention")
class RunNeedsAttention(RunEvent):
    """It is unknown whether some messages of a run were delivered; the operator decides about them."""


@event_kind("run.held")
class RunHeld(RunEvent):
    """A run sends nothing until then, because of *cause*."""

    cause: str
    until: datetime


@event_kind("run.paused")
class RunPaused(RunEvent):
    """A run was paused; *by* is ``person``, ``everything``, ``upload`` or ``restore``."""

    by: str
    cause: str


@event_kind("run.resumed")
class RunResumed(RunEvent):
    """A paused run continues."""


@event_kind("run.resent")
class RunResent(RunEvent):
    """A message of which it is unknown whether it was delivered is sent again.

    *target* is the title of the group that may have it twice.
    """

    target: str
    part: int
    why: str


@event_kind("run.progressed")
class RunProgressed(RunEvent):
    """How many messages of a run are delivered; at most once a second."""

    counts: dict[str, int]
    body: str
