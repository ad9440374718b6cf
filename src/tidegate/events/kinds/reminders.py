"""Reminders and target lists. The subject is the reminder's or the list's name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.core.ids import RunId
from tidegate.events.event_data import EventData


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderSaved(EventData):
    """A reminder was written; *due_at* is its next run, null when it is fired by hand."""

    due_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderAdded(ReminderSaved):
    """A reminder was added; *due_at* is its next run, null when it is fired by hand."""

    kind = "reminder.added"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderChanged(ReminderSaved):
    """A reminder was changed; *due_at* is its next run, null when it is fired by hand."""

    kind = "reminder.changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderRemoved(EventData):
    """A reminder was removed; its runs stay."""

    kind = "reminder.removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderFired(EventData):
    """A run of a reminder has ended; *body* says how many were delivered, *summary* why others were not."""

    kind = "reminder.fired"
    run: RunId
    status: str
    body: str
    summary: str
    test: bool
    counts: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAdded(EventData):
    """A target list was made."""

    kind = "list.added"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRenamed(EventData):
    """A target list was renamed; *before* is its old name."""

    kind = "list.renamed"
    before: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListChanged(EventData):
    """The groups of a target list were changed; *groups* counts them."""

    kind = "list.changed"
    groups: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRemoved(EventData):
    """A target list was removed."""

    kind = "list.removed"
