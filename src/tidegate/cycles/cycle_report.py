"""The result of a cycle: its report for the command, the feed and the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import structlog

from tidegate.core.ids import CallId, ChannelId, CycleId, CycleNumber
from tidegate.cycles.queries import cycles
from tidegate.database.pool import Connection
from tidegate.events.kinds.cycles import CycleEnded
from tidegate.events.queries import feed
from tidegate.history.ingest import IngestTally
from tidegate.lanes import Lane
from tidegate.scans.rules.scan_decision import Verdict

log = structlog.get_logger()


@dataclass(slots=True)
class CycleReport:
    """The result of a cycle, as ``tidegate cycle`` prints it.

    *calls* are those of the cycle itself. *indexing_calls* are for the archives indexed after it, *reconcile_calls* for
    comparing stored messages. *kept* is the row in which the report is stored, if it is. *parked* says how long
    channels are rate limited; an entry without a channel is the gate. The event names none of the *private* ones.
    """

    account: str
    cycle: CycleNumber
    whole: bool
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    gated: int = 0
    changed: int = 0
    failures_retried: int = 0
    troubles: list[str] = field(default_factory=list)
    tally: IngestTally = field(default_factory=IngestTally)
    seconds: float = 0.0
    calls: Mapping[str, int] = field(default_factory=dict)
    indexing_calls: Mapping[str, int] = field(default_factory=dict)
    reconcile_calls: int = 0
    connect_calls: int = 0
    kept: CycleId | None = None
    parked: dict[ChannelId | None, timedelta] = field(default_factory=dict)
    private: set[ChannelId] = field(default_factory=set)

    def event(self) -> CycleEnded:
        return CycleEnded(
            account=self.account,
            cycle=self.cycle,
            whole=self.whole,
            calls=dict(self.calls),
            calls_total=sum(self.calls.values()),
            indexing_calls=dict(self.indexing_calls),
            reconcile_calls=self.reconcile_calls,
            connect_calls=self.connect_calls,
            verdicts={verdict.key: count for verdict, count in self.verdicts.items() if count},
            gated=self.gated,
            changed=self.changed,
            messages=self.tally.messages,
            archives_found=self.tally.archives,
            files_found=self.tally.files,
            failures_retried=self.failures_retried,
            troubles=self.troubles,
            parked=[
                {"channel": channel, "seconds": round(pause.total_seconds())}
                for channel, pause in self.parked.items()
                if channel not in self.private
            ],
            seconds=round(self.seconds, 3),
        )

    def as_json(self) -> dict[str, Any]:
        return self.event().as_json()


async def keep_report(
    connection: Connection, lane: Lane, report: CycleReport, began_at: datetime, *, since: CallId
) -> None:
    """Count the calls of a cycle *since* an entry of the call log, and close it: its number, its row, its event."""
    claim = lane.claim()
    spent = await cycles.spent(connection, lane.account.id, report.cycle, since=since)
    report.calls, report.connect_calls = spent.calls, spent.connect_calls
    if report.whole:
        await cycles.advance(connection, claim, report.cycle)
    ended = report.event()
    data = ended.as_json()
    report.kept = await cycles.record(connection, lane.account.id, report.cycle, began_at, data, whole=report.whole)
    await feed.record(connection, lane.account.name, ended)
    log.info(ended.kind, **data)
