"""The data of the log: the latest checks with what they cost, and the workers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.database.pool import Connection


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One check of an account's channels; *requests* and *messages* are None where an old one did not count them."""

    account: str
    whole: bool
    began_at: datetime
    ended_at: datetime
    requests: int | None
    changed: int | None
    messages: int | None


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker that is alive or ended in the last day, and how many accounts it serves."""

    name: str
    host: str
    version: str
    accounts: int
    seats: int
    ended_at: datetime | None
    ending: str | None


async def checks(connection: Connection, most: int) -> list[CheckRow]:
    rows = await connection.fetch(
        """
        SELECT a.name AS account, c.whole, c.began_at, c.ended_at, (c.report->>'calls_total')::bigint AS requests,
            (c.report->>'changed')::bigint AS changed, (c.report->>'messages')::bigint AS messages
        FROM (SELECT * FROM cycles ORDER BY id DESC LIMIT $1) c JOIN accounts a ON a.id = c.account
        ORDER BY c.id DESC
        """,
        most,
    )
    return [CheckRow(**dict(row)) for row in rows]


async def workers(connection: Connection) -> list[WorkerRow]:
    rows = await connection.fetch(
        """
        SELECT w.name, w.host, w.version, w.seats, w.ended_at, w.ending,
            (SELECT count(*) FROM accounts a WHERE a.owner = w.number AND w.ended_at IS NULL) AS accounts
        FROM workers w
        WHERE w.ended_at IS NULL OR w.ended_at > (SELECT clock_now()) - interval '1 day'
        ORDER BY w.ended_at IS NOT NULL, w.number DESC
        LIMIT 50
        """
    )
    return [WorkerRow(**dict(row)) for row in rows]
