"""The demo's tour. The subject is the writer and the number of its note."""

from __future__ import annotations

from tidegate.events.event_data import EventData, event_kind


@event_kind("tour.noted")
class TourNoted(EventData):
    """The demo tries that a reader of the feed misses no event."""
