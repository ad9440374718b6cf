"""Workers. The subject is the worker's name."""

from __future__ import annotations

from tidegate.events.event_data import EventData, event_kind


@event_kind("worker.joined")
class WorkerJoined(EventData):
    """A worker started; it serves up to *seats* accounts."""

    seats: int


@event_kind("worker.left")
class WorkerLeft(EventData):
    """A worker ended by itself."""


@event_kind("worker.died")
class WorkerDied(EventData):
    """A worker's process ended unexpectedly; others serve its accounts."""


@event_kind("worker.silent")
class WorkerSilent(EventData):
    """A worker does not answer; others serve its accounts."""


@event_kind("worker.came_back")
class WorkerCameBack(EventData):
    """A worker lost its session to the database and has a new one."""
