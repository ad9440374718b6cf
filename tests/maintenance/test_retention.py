"""everything-kept-ends: everything kept has an end, and removing it holds nobody up."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import asyncpg
import pytest

from tests.scans.stored_channels import add_account, add_channel, message
from tidegate.core.message_content import ExpiredMessages, MessageContent
from tidegate.database.pool import Connection, Database, now_of
from tidegate.history.queries import messages
from tidegate.maintenance import retention
from tidegate.maintenance.retention import Retention, sweep

pytestmark = pytest.mark.both_servers

DAY = timedelta(days=1)
KEEP = Retention(
    calls=90 * DAY,
    events=30 * DAY,
    commands=7 * DAY,
    runs=90 * DAY,
    workers=7 * DAY,
    waits=DAY,
    chats=DAY,
    pictures=DAY,
)

# One row of each kind, ended so long ago: $1 says how long.
ROWS = {
    "calls": """
        INSERT INTO calls (account, kind, method, outcome, at)
        VALUES (1, 'work', 'page', 'ok', clock_now() - $1::interval)
        """,
    "events": "INSERT INTO events (kind, subject, at) VALUES ('test.happened', 'shop', clock_now() - $1::interval)",
    "commands": """
        INSERT INTO commands (account, kind, state, ended_at)
        SELECT id, 'pause', 'done', clock_now() - $1::interval FROM accounts
        """,
    "workers": """
        INSERT INTO workers (number, name, sessions, host, process, version, seats, time_out, ended_at, ending)
        SELECT count(*), 'w', 's', 'h', 'p', 'v', 1, '15 s', clock_now() - $1::interval, 'left' FROM workers
        """,
    "waits": """
        INSERT INTO waits (account, kind, key, until)
        SELECT id, 'chat', (SELECT count(*) FROM waits), clock_now() - $1::interval FROM accounts
        """,
    "pictures": """
        INSERT INTO pictures (hash, mime, content, kept_at)
        SELECT int8send(count(*)), 'image/png', '', clock_now() - $1::interval FROM pictures
        """,
    "runs": """
        INSERT INTO runs (name, account, start_hour, end_hour, timezone, when_window_closes, when_unknown, begun_target,
                          state, status, counts, opens_at, closes_at, ended_at)
        SELECT 'r', id, 6, 18, 'UTC', 'stop', 'hold', 'finish', 'ended', 'success', '{}', at, at, at
        FROM accounts, (SELECT clock_now() - $1::interval AS at) AS t
        """,
    "media": """
        INSERT INTO media (sha256, size, mime, kept_at)
        SELECT int8send(count(*)), 1, 'image/png', clock_now() - $1::interval FROM media
        """,
    "chats": """
        INSERT INTO chat_pace (account, chat, tat)
        SELECT id, (SELECT count(*) FROM chat_pace), clock_now() - $1::interval FROM accounts
        """,
    "account_hours": """
        INSERT INTO account_hours (account, hour)
        SELECT (SELECT count(*) FROM account_hours), clock_now() - $1::interval
        """,
    "message_hours": """
        WITH place AS (
            INSERT INTO channels (platform, number) VALUES ('telegram', 1)
            ON CONFLICT (platform, number) DO UPDATE SET title = '' RETURNING id
        )
        INSERT INTO message_hours (channel, hour, messages)
        SELECT id, clock_now() - $1::interval - (SELECT count(*) FROM message_hours) * interval '1 minute', 1 FROM place
        """,
    "early_deletions": """
        WITH place AS (
            INSERT INTO channels (platform, number) VALUES ('telegram', 1)
            ON CONFLICT (platform, number) DO UPDATE SET title = '' RETURNING id
        )
        INSERT INTO early_deletions (channel, message, deleted_at)
        SELECT id, (SELECT count(*) FROM early_deletions), clock_now() - $1::interval FROM place
        """,
}
TABLES = {kind: kind for kind in ROWS} | {"chats": "chat_pace"}
SPANS = {"message_hours": KEEP.hours, "account_hours": KEEP.hours}


@pytest.fixture(autouse=True)
async def _account(database: Database) -> None:
    await database.pool.execute("INSERT INTO accounts (name, platform) VALUES ('shop', 'whatsapp')")


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_BATCH", 3)


async def add(database: Database, kind: str, *ages: timedelta) -> None:
    await database.pool.executemany(ROWS[kind], [(age,) for age in ages])


async def left(database: Database, kind: str) -> int:
    count: int = await database.pool.fetchval(f"SELECT count(*) FROM {TABLES[kind]}")
    return count


@pytest.mark.parametrize("kind", ROWS)
async def test_what_is_older_than_its_span_goes_and_the_rest_stays(database: Database, kind: str) -> None:
    """Over several batches, all that is too old is removed and nothing younger."""
    span: timedelta = SPANS.get(kind) or getattr(KEEP, kind)
    await add(database, kind, *[span + DAY] * 7, *[span - DAY / 2] * 2)
    assert await sweep(database, KEEP) == {kind: 7}
    assert await left(database, kind) == 2
    assert await sweep(database, KEEP) == {}


async def test_a_command_nobody_answered_is_kept(database: Database) -> None:
    """Age alone ends nothing that still waits for its owner."""
    await database.pool.execute(
        "INSERT INTO commands (account, kind, asked_at) SELECT id, 'pause', '2001-01-01' FROM accounts"
    )
    assert await sweep(database, KEEP) == {}
    assert await left(database, "commands") == 1


async def test_a_worker_is_remembered_while_it_matters(database: Database) -> None:
    """A living worker stays, and so does an ended one whose account nobody took over: its ending decides when."""
    await add(database, "workers", 30 * DAY, 30 * DAY, 30 * DAY)
    await database.pool.execute("UPDATE workers SET ended_at = NULL, ending = NULL WHERE number = 0")
    await database.pool.execute("UPDATE accounts SET owner = 1")
    assert await sweep(database, KEEP) == {"workers": 1}
    assert await left(database, "workers") == 2


async def test_one_process_sweeps_at_a_time(database: Database) -> None:
    """Who finds another at it leaves the work to that one."""
    await add(database, "events", 40 * DAY)
    async with database.transaction() as other:
        await other.execute("SELECT pg_advisory_xact_lock($1)", retention._LOCK)
        assert await sweep(database, KEEP) == {}
        assert await left(database, "events") == 1
    assert await sweep(database, KEEP) == {"events": 1}


async def test_each_batch_is_a_transaction_of_its_own(database: Database) -> None:
    """A sweep that is stopped half-way has done half of it, so no lock or log grows with what there is to remove."""
    await add(database, "events", *[40 * DAY] * 4, 35 * DAY)
    await database.pool.execute(
        """
        UPDATE events SET subject = 'stuck' WHERE at > clock_now() - interval '36 days';
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
        CREATE TRIGGER refuse BEFORE DELETE ON events
        FOR EACH ROW WHEN (OLD.subject = 'stuck') EXECUTE FUNCTION refuse();
        """
    )
    with pytest.raises(asyncpg.RaiseError):
        await sweep(database, KEEP)
    assert await left(database, "events") == 2


@pytest.mark.parametrize(
    ("index", "statement"), [("events_at", retention._OLD_EVENTS), ("commands_ended", retention._OLD_COMMANDS)]
)
async def test_old_rows_are_found_by_an_index(database: Database, index: str, statement: str) -> None:
    """A sweep that finds nothing costs nothing, however much is kept."""
    async with database.pool.acquire() as connection:
        await _fill(connection)
        month_ago = await connection.fetchval("SELECT clock_now() - interval '30 days'")
        plan = await connection.fetch(f"EXPLAIN {statement}", month_ago, 2_000)
    assert any(f"using {index}" in line[0] for line in plan), plan


async def _fill(connection: Connection) -> None:
    await connection.execute(
        """
        INSERT INTO events (kind, subject, at)
        SELECT 'test.happened', 'shop', clock_now() - n * interval '1 minute' FROM generate_series(1, 10000) n;
        INSERT INTO commands (account, kind, state, ended_at)
        SELECT id, 'pause', 'done', clock_now() - n * interval '1 minute' FROM accounts, generate_series(1, 10000) n;
        ANALYZE events, commands;
        """
    )


@pytest.mark.parametrize(("outcome", "texts"), [("keep", {"secret"}), ("erase", {""})])
async def test_messages_that_expired_end_as_the_operator_wants(
    database: Database, outcome: str, texts: set[str]
) -> None:
    """Over several batches and channels; those that have time left stay."""
    async with database.transaction() as connection:
        reader = await add_account(connection, "reader")
        now = await now_of(connection)
        for number in (7, 8):
            key = (await add_channel(connection, reader, number)).key
            for one, left in enumerate([-DAY] * 4 + [DAY], start=1):
                expiring = MessageContent(expires_at=now + left)
                await messages.store(connection, key, [replace(message(one, "secret"), content=expiring)])
    keep = replace(KEEP, expired_messages=ExpiredMessages(outcome))
    assert await sweep(database, keep) == {"expired_messages": 8}
    assert await sweep(database, keep) == {}
    rows = await database.pool.fetch("SELECT id, text, deleted_at FROM messages ORDER BY id")
    assert {row["text"] for row in rows if row["deleted_at"] is not None} == texts
    assert [(row["id"], row["text"]) for row in rows if row["deleted_at"] is None] == [(5, "secret")] * 2
