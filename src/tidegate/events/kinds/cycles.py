"""Cycles. The subject is the account's name."""

from __future__ import annotations

from tidegate.core.ids import CycleNumber
from tidegate.events.event_data import EventData, event_kind


@event_kind("cycle.ended")
class CycleEnded(EventData):
    """A cycle has ended; ``tidegate cycle --json`` has the same fields."""

    account: str
    cycle: CycleNumber
    whole: bool
    calls: dict[str, int]
    calls_total: int
    indexing_calls: dict[str, int]
    reconcile_calls: int
    connect_calls: int
    verdicts: dict[str, int]
    gated: int
    changed: int
    messages: int
    archives_found: int
    files_found: int
    failures_retried: int
    troubles: list[str]
    parked: list[dict[str, int | None]]
    seconds: float
