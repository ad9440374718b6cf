"""Workers. The subject is the worker's name."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.events.event_data import EventData


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerJoined(EventData):
    """A worker started; it serves up to *seats* accounts."""

    kind = "worker.joined"
    seats: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLeft(EventData):
    """A worker ended by itself."""

    kind = "worker.left"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDied(EventData):
    """A worker's process ended unexpectedly; others serve its accounts."""

    kind = "worker.died"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSilent(EventData):
    """A worker does not answer; others serve its accounts."""

    kind = "worker.silent"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerCameBack(EventData):
    """A worker lost its session to the database and has a new one."""

    kind = "worker.came_back"
