"""Every kind of event that Tidegate records, by subject; ``parse`` reads a stored one back."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from tidegate.events.event_data import EventData, TimeMissing
from tidegate.events.kinds import (
    access,
    accounts,
    archives,
    channels,
    cycles,
    demo,
    history,
    lanes,
    media,
    reminders,
    runs,
    workers,
)  # fmt: skip

SUBJECTS = (access, accounts, archives, channels, cycles, demo, history, lanes, media, reminders, runs, workers)


def kinds_of(subject: ModuleType) -> list[type[EventData]]:
    """The kinds of a module, in the order they are written in."""
    found = [value for value in vars(subject).values() if isinstance(value, type) and issubclass(value, EventData)]
    return [one for one in found if hasattr(one, "kind")]


KINDS = {one.kind: one for subject in SUBJECTS for one in kinds_of(subject)}


def parse(kind: str, data: Mapping[str, Any]) -> EventData | None:
    """A stored event as its class; None for one that this release does not know, or not with such data."""
    known = KINDS.get(kind)
    try:
        return None if known is None else known.from_json(data)
    except TimeMissing:
        return None
