"""The hourly sums behind the charts: filled here for rows from before, and deleted when old. Triggers keep them exact.

A stretch of hours is counted again while no other process changes its sums, so a kill or a second run changes nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from tidegate.database.pool import Connection, Database, rows_deleted

KEPT_FOR = timedelta(days=32)
"""How far back sums by hour reach; the trigger of messages knows the same number."""

STORAGE_KEPT_FOR = timedelta(days=400)
_STRETCH = timedelta(hours=6)

# Messages that were deleted have an index of their own, as the others have; a condition on both would use neither.
_COUNT = {
    "messages": (
        "message_hours",
        """
        INSERT INTO message_hours (channel, hour, messages)
        SELECT channel, date_trunc('hour', at, 'UTC'), count(*)
        FROM (SELECT channel, at FROM messages WHERE at >= $1 AND at < $2 AND deleted_at IS NULL
              UNION ALL
              SELECT channel, at FROM messages WHERE at >= $1 AND at < $2 AND deleted_at IS NOT NULL) AS written
        GROUP BY 1, 2
        """,
        """
        SELECT greatest((SELECT max(at) FROM messages WHERE at < $1 AND deleted_at IS NULL),
                        (SELECT max(at) FROM messages WHERE at < $1 AND deleted_at IS NOT NULL))
        """,
    ),
    "accounts": (
        "account_hours",
        """
        INSERT INTO account_hours (account, hour, requests, sends, errors, checks, check_requests, check_places)
        SELECT account, hour, coalesce(sum(requests), 0), coalesce(sum(sends), 0), coalesce(sum(errors), 0),
            coalesce(sum(checks), 0), coalesce(sum(check_requests), 0), coalesce(sum(check_places), 0)
        FROM (
            SELECT account, date_trunc('hour', at, 'UTC') AS hour,
                count(*) FILTER (WHERE outcome <> 'not_sent') AS requests,
                count(*) FILTER (WHERE charged AND outcome <> 'not_sent') AS sends,
                count(*) FILTER (WHERE outcome IN ('asked_to_wait', 'unknown', 'failed')) AS errors,
                0 AS checks, 0 AS check_requests, 0 AS check_places
            FROM calls WHERE at >= $1 AND at < $2 AND outcome <> 'claimed'
            GROUP BY 1, 2
            UNION ALL
            SELECT account, date_trunc('hour', ended_at, 'UTC'), 0, 0, 0, count(*),
                sum((report ->> 'calls_total')::bigint), count(*) * places_read_by(account)
            FROM cycles WHERE ended_at >= $1 AND ended_at < $2 AND whole
            GROUP BY 1, 2
        ) AS counted
        GROUP BY 1, 2
        """,
        """
        SELECT greatest((SELECT max(at) FROM calls WHERE at < $1),
                        (SELECT max(ended_at) FROM cycles WHERE ended_at < $1))
        """,
    ),
}


async def fill(database: Database) -> int:
    """Count what was stored before these sums existed, the newest first; returns how many stretches were counted.

    A stretch is a transaction. What waits for it waits about as long as reading six hours of messages takes.
    """
    done = 0
    for what in _COUNT:
        while await fill_some(database, what):
            done += 1
    return done


async def fill_some(database: Database, what: str) -> bool:
    """Count the next stretch of one kind of sums; False when there is none left, or another process is at it."""
    table, count, newest = _COUNT[what]
    async with database.transaction() as connection:
        row = await connection.fetchrow(
            "SELECT below, clock_now() AS now FROM hour_fills WHERE what = $1 FOR UPDATE SKIP LOCKED", what
        )
        if row is None:
            return False
        below = row["below"] or _hour(row["now"]) + timedelta(hours=1)
        latest = await connection.fetchval(newest, below)
        if latest is None or latest < row["now"] - KEPT_FOR:
            await connection.execute("DELETE FROM hour_fills WHERE what = $1", what)
            return False
        below = min(below, _hour(latest) + timedelta(hours=1))
        begin = below - _STRETCH
        await connection.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")
        await connection.execute(f"DELETE FROM {table} WHERE hour >= $1 AND hour < $2", begin, below)
        await connection.execute(count, begin, below)
        await connection.execute("UPDATE hour_fills SET below = $2 WHERE what = $1", what, begin)
    return True


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


async def note_storage(database: Database) -> None:
    """Write down what is kept today; the first time also what is known of the days before."""
    async with database.transaction() as connection:
        if not await connection.fetchval("SELECT EXISTS (SELECT FROM storage_days)"):
            await connection.execute(_PAST_STORAGE)
        await connection.execute(_TODAYS_STORAGE)


_TODAYS_STORAGE = """
    INSERT INTO storage_days (day, archives, archive_bytes, files, file_bytes)
    SELECT (clock_now() AT TIME ZONE 'UTC')::date, (SELECT count(*) FROM archives),
        (SELECT coalesce(sum(size), 0) FROM archive_parts), coalesce(sum(files), 0), coalesce(sum(bytes), 0)
    FROM media_stored
    ON CONFLICT (day) DO UPDATE
    SET archives = excluded.archives, archive_bytes = excluded.archive_bytes, files = excluded.files,
        file_bytes = excluded.file_bytes
"""

# What is kept now, added up from the day it came; what was removed since is not known any more.
_PAST_STORAGE = """
    INSERT INTO storage_days (day, archives, archive_bytes, files, file_bytes)
    SELECT * FROM (
        SELECT day, sum(sum(archives)) OVER up, sum(sum(archive_bytes)) OVER up, sum(sum(files)) OVER up,
            sum(sum(file_bytes)) OVER up
        FROM (
            SELECT (found_at AT TIME ZONE 'UTC')::date AS day, count(*) AS archives, 0 AS archive_bytes, 0 AS files,
                0 AS file_bytes
            FROM archives GROUP BY 1
            UNION ALL
            SELECT (a.found_at AT TIME ZONE 'UTC')::date, 0, sum(p.size), 0, 0
            FROM archive_parts p JOIN archives a ON a.id = p.archive GROUP BY 1
            UNION ALL
            SELECT (kept_at AT TIME ZONE 'UTC')::date, 0, 0, count(*), sum(size) FROM media_blobs GROUP BY 1
        ) AS came
        GROUP BY day
        WINDOW up AS (ORDER BY day)
    ) AS past
    WHERE day < (clock_now() AT TIME ZONE 'UTC')::date
"""


async def prune_message_hours(connection: Connection, before: datetime, *, limit: int) -> int:
    """Delete up to *limit* hours of channels that began before that instant."""
    return rows_deleted(await connection.execute(_OLD_MESSAGE_HOURS, before, limit))


async def prune_account_hours(connection: Connection, before: datetime, *, limit: int) -> int:
    """Delete up to *limit* hours of accounts that began before that instant."""
    return rows_deleted(await connection.execute(_OLD_ACCOUNT_HOURS, before, limit))


async def prune_storage_days(connection: Connection, before: datetime, *, limit: int) -> int:
    """Delete up to *limit* days before that instant."""
    return rows_deleted(await connection.execute(_OLD_STORAGE_DAYS, before, limit))


_OLD_MESSAGE_HOURS = """
    DELETE FROM message_hours
    WHERE (channel, hour) IN (SELECT channel, hour FROM message_hours WHERE hour < $1 LIMIT $2)
"""

_OLD_ACCOUNT_HOURS = """
    DELETE FROM account_hours
    WHERE (account, hour) IN (SELECT account, hour FROM account_hours WHERE hour < $1 LIMIT $2)
"""

_OLD_STORAGE_DAYS = """
    DELETE FROM storage_days
    WHERE day IN (SELECT day FROM storage_days WHERE day < ($1 AT TIME ZONE 'UTC')::date ORDER BY day LIMIT $2)
"""
