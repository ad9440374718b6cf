"""Cycles: their number, what each decided, and its calls by the call log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from tidegate.core.account import Claim
from tidegate.core.errors import NotOurs
from tidegate.core.ids import AccountId, CallId, CycleId, CycleNumber
from tidegate.database.pool import Connection


@dataclass(frozen=True, slots=True)
class CycleCalls:
    """The calls of a cycle by method, and how many calls the library made to connect."""

    calls: dict[str, int]
    connect_calls: int


async def mark(connection: Connection) -> CallId:
    """A position in the call log: later entries come after it."""
    place: CallId = await connection.fetchval("SELECT coalesce(max(id), 0) FROM calls")
    return place


async def spent(connection: Connection, account: AccountId, cycle: CycleNumber, *, since: CallId) -> CycleCalls:
    """The calls of an account's cycle since a position in the call log; calls that were never sent do not count."""
    rows = await connection.fetch(
        """
        SELECT kind, method, count(*) AS count
        FROM calls
        WHERE id > $3 AND account = $1 AND outcome <> 'not_sent' AND (cycle = $2 OR kind = 'connect')
        GROUP BY kind, method
        ORDER BY method
        """,
        account, cycle, since,
    )  # fmt: skip
    return CycleCalls(
        calls={row["method"]: row["count"] for row in rows if row["kind"] == "work"},
        connect_calls=sum(row["count"] for row in rows if row["kind"] == "connect"),
    )


async def current(connection: Connection, account: AccountId) -> tuple[CycleNumber, datetime]:
    """The number of an account's last full pass, and the database's current time."""
    row = await connection.fetchrow("SELECT cycle, clock_now() AS now FROM accounts WHERE id = $1", account)
    assert row is not None
    return row["cycle"], row["now"]


async def advance(connection: Connection, claim: Claim, number: CycleNumber) -> None:
    """Store the number of a full pass that has ended; ``NotOurs`` when the account was taken over."""
    done = await connection.execute(
        "UPDATE accounts SET cycle = $3 WHERE id = $1 AND epoch = $2 AND cycle = $3 - 1",
        claim.account, claim.epoch, number,
    )  # fmt: skip
    if done != "UPDATE 1":
        raise NotOurs(f"Account {claim.account} was taken over; cycle {number} does not count.")


async def record(
    connection: Connection,
    account: AccountId,
    number: CycleNumber,
    began_at: datetime,
    report: dict[str, Any],
    *,
    whole: bool,
) -> CycleId:
    """Store the report of a cycle; returns the number of the row."""
    row: CycleId = await connection.fetchval(
        "INSERT INTO cycles (account, number, whole, began_at, report) VALUES ($1, $2, $3, $4, $5) RETURNING id",
        account, number, whole, began_at, report,
    )  # fmt: skip
    return row


async def complete(connection: Connection, row: CycleId, report: dict[str, Any]) -> None:
    """Store the final report of a cycle, once the work after it has been counted too."""
    await connection.execute("UPDATE cycles SET report = $2 WHERE id = $1", row, report)


async def listing(
    connection: Connection, account: AccountId, *, before: CycleId | None = None, most: int
) -> list[asyncpg.Record]:
    """An account's cycles before a row, newest first."""
    rows: list[asyncpg.Record] = await connection.fetch(
        """
        SELECT id, number, whole, began_at, ended_at, report FROM cycles
        WHERE account = $1 AND id < coalesce($2, 9223372036854775807) ORDER BY id DESC LIMIT $3
        """,
        account, before, most,
    )  # fmt: skip
    return rows


async def prune(connection: Connection, before: datetime, *, limit: int = 10_000) -> int:
    """Delete up to *limit* of the oldest cycles that ended before that instant; returns how many."""
    removed = await connection.fetch(
        """
        DELETE FROM cycles
        WHERE id = ANY (ARRAY(
            SELECT id FROM cycles WHERE ended_at < $1 ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED
        ))
        RETURNING 1
        """,
        before, limit,
    )  # fmt: skip
    return len(removed)
