"""The demo's tour. The subject is the writer and the number of its note."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.events.event_data import EventData


@dataclass(frozen=True, slots=True, kw_only=True)
class TourNoted(EventData):
    """The demo tries that a reader of the feed misses no event."""

    kind = "tour.noted"
