"""Past cycles: what each did, and the calls it used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegate.core.account import Account
from tidegate.core.ids import CycleId, CycleNumber
from tidegate.core.json_fields import Instant
from tidegate.cycles.queries import cycles
from tidegate.database.pool import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleRow:
    """A cycle that has ended, a *whole* pass or over one channel; *report* is what ``tidegate cycle --json`` prints."""

    id: CycleId
    account: str
    cycle: CycleNumber
    whole: bool
    began_at: Instant
    ended_at: Instant
    calls_total: int
    report: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CyclesPage:
    """Cycles, newest first; *next* goes on before them, and is null at the oldest that is kept."""

    cycles: list[CycleRow]
    next: CycleId | None


async def cycles_page(connection: Connection, account: Account, *, before: CycleId | None, most: int) -> CyclesPage:
    """An account's cycles before a row."""
    rows = await cycles.listing(connection, account.id, before=before, most=most + 1)
    shown = [
        CycleRow(
            id=row["id"],
            account=account.name,
            cycle=row["number"],
            whole=row["whole"],
            began_at=row["began_at"].isoformat(),
            ended_at=row["ended_at"].isoformat(),
            calls_total=row["report"].get("calls_total", 0),
            report=row["report"],
        )
        for row in rows[:most]
    ]
    return CyclesPage(cycles=shown, next=shown[-1].id if len(rows) > most else None)
