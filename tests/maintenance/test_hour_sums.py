"""The sums behind the charts equal the rows they are made of, whatever was stored in which order."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from tests.scans.stored_channels import add_account, add_channel, message
from tidegate.core.account import Claim
from tidegate.core.clock import SystemClock
from tidegate.core.ids import AccountId, ChannelKey
from tidegate.core.platform_call import CallKind, CallOutcome
from tidegate.cycles.queries import cycles
from tidegate.database.pool import Database, now_of
from tidegate.history.queries import deletions, messages
from tidegate.lanes.queries import pace
from tidegate.lanes.queries.calls import CallLog
from tidegate.lanes.rules.slowdown_after_warning import Allowance
from tidegate.maintenance import hour_sums

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

_MESSAGES = """
    SELECT channel, date_trunc('hour', at, 'UTC') AS hour, count(*)::integer AS messages FROM messages
    WHERE at > clock_now() - interval '31 days' GROUP BY 1, 2 ORDER BY 1, 2
"""
_CALLS = """
    SELECT account, date_trunc('hour', at, 'UTC') AS hour, count(*) FILTER (WHERE outcome <> 'not_sent') AS requests,
        count(*) FILTER (WHERE charged AND outcome <> 'not_sent') AS sends,
        count(*) FILTER (WHERE outcome IN ('asked_to_wait', 'unknown', 'failed')) AS errors
    FROM calls WHERE at > clock_now() - interval '31 days' AND outcome <> 'claimed' GROUP BY 1, 2 ORDER BY 1, 2
"""


async def counted(database: Database, table: str) -> list[dict[str, Any]]:
    """The sums of a table as they are kept."""
    columns = {
        "message_hours": "channel, hour, messages",
        "account_hours": "account, hour, requests, sends, errors",
    }[table]
    rows = await database.pool.fetch(
        f"SELECT {columns} FROM {table} WHERE hour > clock_now() - interval '31 days' ORDER BY 1, 2"
    )
    return [dict(row) for row in rows]


async def true(database: Database, query: str) -> list[dict[str, Any]]:
    return [dict(row) for row in await database.pool.fetch(query)]


async def _channel(database: Database) -> tuple[AccountId, ChannelKey, datetime]:
    async with database.transaction() as connection:
        account = await add_account(connection, "reader")
        return account, (await add_channel(connection, account)).key, await now_of(connection)


async def _store(
    database: Database, key: ChannelKey, now: datetime, *numbers: int, apart: timedelta = 3 * HOUR
) -> None:
    """Messages of which each is so much older than the one with the next lower number."""
    async with database.transaction() as connection:
        page = [replace(message(number), at=now - number * apart) for number in numbers]
        await messages.store(connection, key, page)


async def test_messages_are_counted_in_the_hour_they_were_written_in(database: Database) -> None:
    """A page that comes twice or in parts counts once, an edit counts nothing, and one of long ago is left out."""
    _, key, now = await _channel(database)
    await _store(database, key, now, 1, 2, 3, apart=HOUR / 3)
    await _store(database, key, now, 2, 3, 4, 5, apart=HOUR / 3)
    async with database.transaction() as connection:
        await messages.store(connection, key, [replace(message(2, "new words"), at=now - 2 * HOUR / 3, edited_at=now)])
        await deletions.mark_deleted(connection, key, [message(3).id])
    await _store(database, key, now - 40 * DAY, 100)
    found = await counted(database, "message_hours")
    assert found == await true(database, _MESSAGES)
    assert sum(row["messages"] for row in found) == 5


async def test_a_page_that_was_not_committed_counts_nothing(database: Database) -> None:
    """page-and-progress-together: the sums are part of the transaction."""
    _, key, now = await _channel(database)
    async with database.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await messages.store(connection, key, [replace(message(1), at=now)])
        await transaction.rollback()
    assert await counted(database, "message_hours") == []


async def test_calls_are_counted_by_how_they_ended(database: Database, clock: SystemClock) -> None:
    """A send counts when it is answered, unless it was never made; one that has no answer is in no sum."""
    account, _, now = await _channel(database)
    log = CallLog(database, clock)
    for outcome in (CallOutcome.OK, CallOutcome.FAILED, CallOutcome.NOT_SENT):
        log.note(account, CallKind.WORK, "page", outcome, at=now)
        log.note(account, CallKind.WORK, "page", outcome, at=now - 2 * HOUR)
    claimed = await database.pool.fetch(
        """
        INSERT INTO calls (account, kind, method, outcome, at, charged)
        SELECT $1, 'work', 'send', 'claimed', clock_now(), true FROM generate_series(1, 4) RETURNING id
        """,
        account,
    )
    answers = (CallOutcome.OK, CallOutcome.UNKNOWN, CallOutcome.NOT_SENT)
    for row, outcome in zip(claimed, answers, strict=False):
        log.answer(row["id"], outcome)
        await log.flush()
    found = await counted(database, "account_hours")
    assert found == await true(database, _CALLS)
    assert sum(row["sends"] for row in found) == 2
    assert sum(row["errors"] for row in found) == 3
    assert sum(row["requests"] for row in found) == 6


async def test_a_claim_does_not_count_before_its_answer(database: Database, clock: SystemClock) -> None:
    """Counting is a third of what a claim costs; the claim itself is on the ledger at once."""
    account, _, _ = await _channel(database)
    async with database.transaction() as connection:
        await pace.set_pace(connection, account, Allowance(ceiling=60))
        await pace.empty_all(connection)
    await database.pool.execute("UPDATE pace SET tat = clock_now() - interval '1 day'")
    async with database.transaction() as connection:
        granted = await pace.claim_send(connection, Claim(account, 0, 0.0), "send")
    assert isinstance(granted, pace.GrantedSend)
    assert await counted(database, "account_hours") == []
    log = CallLog(database, clock)
    log.answer(granted.call, CallOutcome.OK)
    await log.flush()
    [row] = await counted(database, "account_hours")
    assert (row["requests"], row["sends"], row["errors"]) == (1, 1, 0)


async def test_a_check_counts_what_it_took_and_what_it_would_have_taken(database: Database) -> None:
    """A forum counts with each of its topics; the final report of a check takes the place of its first."""
    account, key, now = await _channel(database)
    async with database.transaction() as connection:
        await add_channel(connection, account, 8)
        await connection.execute("INSERT INTO places (channel, topic) SELECT $1, n FROM generate_series(1, 5) n", key)
        row = await cycles.record(connection, account, 1, now, {"calls_total": 2}, whole=True)
        await cycles.record(connection, account, 1, now, {"calls_total": 9}, whole=False)
        await cycles.complete(connection, row, {"calls_total": 3})
    found = await database.pool.fetchrow("SELECT checks, check_requests, check_places FROM account_hours")
    assert dict(found) == {"checks": 1, "check_requests": 3, "check_places": 6}


async def test_older_rows_are_counted_in_steps_that_may_be_killed(database: Database) -> None:
    """A database from before these sums ends with the same sums, however often the filling begins again."""
    account, key, now = await _channel(database)
    for first in range(0, 240, 40):
        await _store(database, key, now, *range(first + 1, first + 41))
    async with database.transaction() as connection:
        await deletions.mark_deleted(connection, key, [message(7).id])
        await connection.executemany(
            "INSERT INTO calls (account, kind, method, outcome, at) VALUES ($1, 'work', 'page', 'failed', $2)",
            [(account, now - number * 5 * HOUR) for number in range(100)],
        )
        await cycles.record(connection, account, 1, now, {"calls_total": 2}, whole=True)
    kept = await database.pool.fetch("SELECT * FROM account_hours ORDER BY account, hour")
    await database.pool.execute("TRUNCATE message_hours, account_hours")
    assert await hour_sums.fill_some(database, "messages")
    await _store(database, key, now, 300)  # stored while it is at it
    await database.pool.execute("UPDATE hour_fills SET below = NULL WHERE what = 'messages'")  # begun anew
    assert await hour_sums.fill(database) > 50
    assert await counted(database, "message_hours") == await true(database, _MESSAGES)
    assert await database.pool.fetch("SELECT * FROM account_hours ORDER BY account, hour") == kept
    assert await hour_sums.fill(database) == 0


async def test_what_is_kept_is_noted_once_a_day(database: Database) -> None:
    """The first note also knows the days before, and a second one of the same day takes its place."""
    _, key, _ = await _channel(database)
    await database.pool.execute(
        """
        INSERT INTO archives (channel, topic, kind, base, name, found_at)
        SELECT $1, 1, 'zip', n::text, 'a.zip', clock_now() - n * interval '1 day' FROM generate_series(1, 3) n
        """,
        key,
    )
    await database.pool.execute(
        """
        INSERT INTO archive_parts (archive, channel, message, file, number, name, size, at, seen_at, sender)
        SELECT id, channel, id, 2, 0, 'a.zip', 10, clock_now(), clock_now(), '' FROM archives
        """
    )
    await database.pool.execute(
        "INSERT INTO media_blobs (sha256, size, type) VALUES (decode(repeat('07', 32), 'hex'), 5, 'image/png')"
    )
    for _ in range(2):
        await hour_sums.note_storage(database)
    rows = await database.pool.fetch("SELECT archives, archive_bytes, files, file_bytes FROM storage_days ORDER BY day")
    assert [tuple(row) for row in rows] == [(1, 10, 0, 0), (2, 20, 0, 0), (3, 30, 0, 0), (3, 30, 1, 5)]


async def test_days_of_storage_end(database: Database) -> None:
    """everything-kept-ends: a year and a bit of days is kept."""
    await database.pool.execute(
        """
        INSERT INTO storage_days (day, archives, archive_bytes, files, file_bytes)
        SELECT (clock_now() AT TIME ZONE 'UTC')::date - n, 0, 0, 0, 0 FROM generate_series(398, 410) n
        """
    )
    async with database.transaction() as connection:
        before = await now_of(connection) - hour_sums.STORAGE_KEPT_FOR
        assert await hour_sums.prune_storage_days(connection, before, limit=4) == 4
        assert await hour_sums.prune_storage_days(connection, before, limit=100) == 6
        assert await hour_sums.prune_storage_days(connection, before, limit=100) == 0
