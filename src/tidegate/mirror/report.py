"""What a cycle did, for whoever asked for it, the feed and the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import structlog

from tidegate.lanes import Lane
from tidegate.mirror.intake import Tally
from tidegate.rules.scanning import Verdict
from tidegate.store import cycles, feed
from tidegate.store.database import Connection

log = structlog.get_logger()


@dataclass(slots=True)
class Report:
    """What a cycle did, as ``tidegate cycle`` prints it.

    *calls* are those of the cycle itself, *indexing_calls* those for the archives that were worked off after it,
    *reconcile_calls* those that compared what is stored; *kept* is the row that it is kept in, if it is.
    """

    account: str
    cycle: int
    whole: bool
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    gated: int = 0
    changed: int = 0
    failures_retried: int = 0
    troubles: list[str] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    seconds: float = 0.0
    calls: Mapping[str, int] = field(default_factory=dict)
    indexing_calls: Mapping[str, int] = field(default_factory=dict)
    reconcile_calls: int = 0
    connect_calls: int = 0
    kept: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "account": self.account,
            "cycle": self.cycle,
            "whole": self.whole,
            "calls": dict(self.calls),
            "calls_total": sum(self.calls.values()),
            "indexing_calls": dict(self.indexing_calls),
            "reconcile_calls": self.reconcile_calls,
            "connect_calls": self.connect_calls,
            "verdicts": {verdict.key: count for verdict, count in self.verdicts.items() if count},
            "gated": self.gated,
            "changed": self.changed,
            "messages": self.tally.messages,
            "archives_found": self.tally.archives,
            "files_found": self.tally.files,
            "failures_retried": self.failures_retried,
            "troubles": self.troubles,
            "seconds": round(self.seconds, 3),
        }


async def keep_report(connection: Connection, lane: Lane, report: Report, began_at: datetime, *, since: int) -> None:
    """Count what a cycle spent *since* a place in the ledger, and close it: its number, its row, its event."""
    claim = lane.claim()
    spent = await cycles.spent(connection, lane.account.id, report.cycle, since=since)
    report.calls, report.connect_calls = spent.calls, spent.connect_calls
    if report.whole:
        await cycles.advance(connection, claim, report.cycle)
    told = report.as_json()
    report.kept = await cycles.record(connection, lane.account.id, report.cycle, began_at, told, whole=report.whole)
    await feed.record(connection, "cycle.ended", lane.account.name, told)
    log.info("cycle.ended", **told)
