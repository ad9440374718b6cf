"""The sums by hour and by day that charts show; triggers keep them, so none of these reads a message or a call."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from tidegate.core.ids import AccountId, ChannelKey, RunId
from tidegate.database.pool import Connection


@dataclass(frozen=True, slots=True)
class AccountHour:
    """What an account, or all of them, did in an hour."""

    hour: datetime
    requests: int
    sends: int
    errors: int
    checks: int
    check_requests: int
    check_places: int


@dataclass(frozen=True, slots=True)
class StorageDay:
    """What was kept on a day (UTC)."""

    day: date
    archive_bytes: int
    file_bytes: int


async def messages_by_hour(
    connection: Connection, since: datetime, account: AccountId | None = None
) -> list[tuple[datetime, int]]:
    """Messages by the hour they were written in: all, or those of the channels that an account reads."""
    if account is None:
        query = "SELECT hour, sum(messages) AS messages FROM message_hours WHERE hour >= $1 GROUP BY hour"
        rows = await connection.fetch(query, since)
    else:
        rows = await connection.fetch(
            """
            SELECT h.hour, sum(h.messages) AS messages
            FROM (SELECT id FROM channels WHERE reader = $2 AND enabled) c,
                LATERAL (SELECT hour, messages FROM message_hours WHERE channel = c.id AND hour >= $1 OFFSET 0) h
            GROUP BY h.hour
            """,
            since, account,
        )  # fmt: skip
    return [(row["hour"], row["messages"]) for row in rows]


async def account_hours(connection: Connection, since: datetime, account: AccountId | None = None) -> list[AccountHour]:
    rows = await connection.fetch(
        """
        SELECT hour, sum(requests)::bigint AS requests, sum(sends)::bigint AS sends, sum(errors)::bigint AS errors,
            sum(checks)::bigint AS checks, sum(check_requests)::bigint AS check_requests,
            sum(check_places)::bigint AS check_places
        FROM account_hours
        WHERE hour >= $1 AND ($2::bigint IS NULL OR account = $2)
        GROUP BY hour
        """,
        since, account,
    )  # fmt: skip
    return [AccountHour(**dict(row)) for row in rows]


async def messages_of_channel(
    connection: Connection, channel: ChannelKey, since: datetime
) -> list[tuple[datetime, int]]:
    """Messages of one channel by the hour they were written in."""
    rows = await connection.fetch(
        "SELECT hour, messages FROM message_hours WHERE channel = $1 AND hour >= $2", channel, since
    )
    return [(row["hour"], row["messages"]) for row in rows]


async def storage_days(connection: Connection, since: date) -> list[StorageDay]:
    """What was kept, by day."""
    rows = await connection.fetch(
        "SELECT day, archive_bytes, file_bytes FROM storage_days WHERE day >= $1 ORDER BY day", since
    )
    return [StorageDay(**dict(row)) for row in rows]


async def is_filling(connection: Connection) -> bool:
    """Whether rows that are older than the sums are still being counted."""
    found: bool = await connection.fetchval("SELECT EXISTS (SELECT FROM hour_fills)")
    return found


async def sent_of_run(
    connection: Connection, run: RunId, begins: datetime, step: timedelta
) -> tuple[int, list[tuple[datetime, int]]]:
    """How many messages a run has, and how many went out in each step of its time that had any."""
    rows = await connection.fetch(
        """
        SELECT CASE WHEN sent_at IS NOT NULL THEN date_bin($3, greatest(sent_at, $2), $2) + $3 END AS upto,
            count(*) AS messages
        FROM run_parts WHERE run = $1
        GROUP BY 1 ORDER BY 1
        """,
        run, begins, step,
    )  # fmt: skip
    found = [(row["upto"], row["messages"]) for row in rows]
    return sum(count for _, count in found), [(upto, count) for upto, count in found if upto is not None]


async def rate_of(connection: Connection, account: AccountId) -> int | None:
    """How many messages a minute an account may send now; None where it has no pace yet."""
    rate: int | None = await connection.fetchval("SELECT rate FROM pace WHERE account = $1", account)
    return rate
