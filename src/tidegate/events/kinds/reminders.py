"""Reminders and target lists. The subject is the reminder's or the list's name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.core.ids import RunId
from tidegate.events.event_data import EventData, event_kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderSaved(EventData):
    """A reminder was written; *due_at* is its next run, null when it is fired by hand."""

    due_at: datetime | None


@event_kind("reminder.added")
class ReminderAdded(ReminderSaved):
    """A reminder was added; *due_at* is its next run, null when it is fired by hand."""


@event_kind("reminder.changed")
class ReminderChanged(ReminderSaved):
    """A reminder was changed; *due_at* is its next run, null when it is fired by hand."""


@event_kind("reminder.enabled")
class ReminderEnabled(ReminderSaved):
    """A reminder was turned on again; *due_at* is its next run."""


@event_kind("reminder.disabled")
class ReminderDisabled(EventData):
    """A reminder was turned off; its schedule fires nothing until it is turned on again."""


@event_kind("reminder.removed")
class ReminderRemoved(EventData):
    """A reminder was removed; its runs stay."""


@event_kind("reminder.fired")
class ReminderFired(EventData):
    """A run of a reminder has ended; *body* says how many were delivered, *summary* why others were not."""

    run: RunId
    status: str
    body: str
    summary: str
    test: bool
    counts: dict[str, int]


@event_kind("list.added")
class ListAdded(EventData):
    """A target list was made."""


@event_kind("list.renamed")
class ListRenamed(EventData):
    """A target list was renamed; *before* is its old name."""

    before: str


@event_kind("list.changed")
class ListChanged(EventData):
    """The groups of a target list were changed; *groups* counts them."""

    groups: int


@event_kind("list.removed")
class ListRemoved(EventData):
    """A target list was removed."""
