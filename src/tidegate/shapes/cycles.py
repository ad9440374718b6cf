"""Cycles that have been made: what each did, and the calls it spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegate.shapes.instants import Instant
from tidegate.store import cycles
from tidegate.store.database import Connection
from tidegate.words import Account


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleRow:
    """A cycle that has ended, a *whole* pass or over one channel; *report* is what ``tidegate cycle --json`` prints."""

    id: int
    account: str
    cycle: int
    whole: bool
    began_at: Instant
    ended_at: Instant
    calls_total: int
    report: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CyclesPage:
    """Cycles, newest first; *next* goes on before them, and is null at the oldest that is kept."""

    cycles: list[CycleRow]
    next: int | None


async def cycles_page(connection: Connection, account: Account, *, before: int | None, most: int) -> CyclesPage:
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
