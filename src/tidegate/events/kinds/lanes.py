"""Lanes: calls to a platform for one account. The subject is the account's name."""

from __future__ import annotations

from datetime import datetime

from tidegate.events.event_data import EventData, event_kind


@event_kind("lane.paused")
class LanePaused(EventData):
    """Calls of an account have to wait; *why* is there when the platform did not ask for it.

    *scope* and *key* say which calls: all, or those of one method, rate limit bucket or chat.
    """

    scope: str
    key: str
    until: datetime
    why: str | None = None


@event_kind("pace.clock_went_back")
class PaceClockWentBack(EventData):
    """The database's clock was set back; the pace of sends was corrected."""
