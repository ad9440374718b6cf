"""What was spent, as ``tidegate calls`` and the API tell it."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.store.calls import By, sums
from tidegate.store.database import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsRow:
    """Platform calls of one kind; what was summed over is null."""

    account: str | None
    cycle: int | None
    kind: str
    method: str | None
    count: int
    errors: int
    unanswered: int
    not_sent: int


async def calls_rows(connection: Connection, by: By | None) -> list[CallsRow]:
    """What the ledger holds, summed over everything but *by*."""
    return [
        CallsRow(
            account=one.account,
            cycle=one.cycle,
            kind=one.kind.value,
            method=one.method,
            count=one.count,
            errors=one.errors,
            unanswered=one.unanswered,
            not_sent=one.not_sent,
        )
        for one in await sums(connection, by)
    ]
