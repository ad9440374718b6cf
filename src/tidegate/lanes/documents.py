"""The calls that were made, as ``tidegate calls`` and the API show them."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.ids import CycleNumber
from tidegate.core.json_fields import document_of
from tidegate.database.pool import Connection
from tidegate.lanes.queries.calls import CallGrouping, sums


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsRow:
    """Platform calls of one kind; what was summed over is null."""

    account: str | None
    cycle: CycleNumber | None
    kind: str
    method: str | None
    count: int
    errors: int
    unanswered: int
    not_sent: int


async def calls_rows(
    connection: Connection, by: CallGrouping | None, *, skip: int = 0, most: int | None = None
) -> list[CallsRow]:
    """What the ledger holds, summed over everything but *by*: all, or *most* rows after the first *skip*."""
    return [document_of(CallsRow, one, kind=one.kind.value) for one in await sums(connection, by, skip=skip, most=most)]
