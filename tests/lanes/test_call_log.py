"""The ledger: nothing blocks a call, nothing is counted twice, and a charged call without an answer stays on record."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import pytest
from structlog.testing import capture_logs

from tests.held import holding
from tests.waiting import PATIENCE
from tidegate.accounts.queries import accounts
from tidegate.core.account import Standing
from tidegate.core.clock import HeldClock
from tidegate.core.ids import AccountId, CallId
from tidegate.core.platform_call import CallKind, CallOutcome
from tidegate.database.pool import Database
from tidegate.lanes.queries import calls
from tidegate.lanes.queries.calls import CallGrouping, CallLog, CallSum
from tidegate.platforms.telegram import TELEGRAM

pytestmark = pytest.mark.both_servers

SECOND = timedelta(seconds=1)
WORK, CONNECT = CallKind.WORK, CallKind.CONNECT


@pytest.fixture
async def clock(database: Database) -> AsyncIterator[HeldClock]:
    async with holding(database) as held:
        yield held


@pytest.fixture
async def account(database: Database) -> AccountId:
    async with database.transaction() as connection:
        return await accounts.add(connection, "shop", TELEGRAM, Standing.NORMAL, loopback=None)


@pytest.fixture
async def call_log(database: Database, clock: HeldClock) -> AsyncIterator[CallLog]:
    kept = CallLog(database, clock, room=1_000)
    yield kept
    await kept.close()


async def count(database: Database) -> int:
    number: int = await database.pool.fetchval("SELECT count(*) FROM calls")
    return number


async def charged(database: Database, account: AccountId, clock: HeldClock) -> CallId:
    number = await database.pool.fetchval(
        "INSERT INTO calls (account, kind, method, outcome, at, charged) "
        "VALUES ($1, 'work', 'send', 'claimed', $2, true) RETURNING id",
        account, clock.now(),
    )  # fmt: skip
    return CallId(number)


async def test_notes_are_written_within_a_second(
    database: Database, clock: HeldClock, account: AccountId, call_log: CallLog
) -> None:
    """calls-through-a-lane: kill -9 loses at most a second of the ledger."""
    at = clock.now()
    call_log.note(account, WORK, "page", CallOutcome.OK, took=SECOND / 4, cycle=7)
    assert await count(database) == 0, "a note waits for nothing"
    await clock.advance(SECOND)
    row = await database.pool.fetchrow("SELECT * FROM calls")
    assert (row["account"], row["kind"], row["method"], row["outcome"]) == (account, "work", "page", "ok")
    assert (row["at"], row["took"], row["cycle"], row["charged"]) == (at, SECOND / 4, 7, False)
    assert call_log.waiting == 0


async def test_an_answer_completes_a_charged_call(
    database: Database, clock: HeldClock, account: AccountId, call_log: CallLog
) -> None:
    """A charged call says how it ended; one that was never answered stays claimed."""
    answered, silent = [await charged(database, account, clock) for _ in range(2)]
    call_log.answer(answered, CallOutcome.OK, SECOND)
    await clock.advance(SECOND)
    rows = await database.pool.fetch("SELECT id, outcome, took FROM calls ORDER BY id")
    assert [tuple(row) for row in rows] == [(answered, "ok", SECOND), (silent, "claimed", None)]


async def test_closing_writes_the_rest(database: Database, clock: HeldClock, account: AccountId) -> None:
    """An orderly end loses nothing."""
    call_log = CallLog(database, clock)
    for _ in range(3):
        call_log.note(account, WORK, "page", CallOutcome.OK)
    await call_log.close()
    assert await count(database) == 3


async def test_a_full_disk_loses_nothing(
    database: Database, clock: HeldClock, account: AccountId, call_log: CallLog
) -> None:
    """While the server cannot write, notes are kept, said once to be waiting, and written when it can again."""
    await database.pool.execute(
        """
        CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON calls EXECUTE FUNCTION no_room();
        """
    )
    with capture_logs() as logs:
        call_log.note(account, WORK, "page", CallOutcome.OK)
        await clock.advance(5 * SECOND)
        call_log.note(account, WORK, "page", CallOutcome.OK)
        await clock.advance(5 * SECOND)
    assert [log["event"] for log in logs] == ["ledger.not_written"]
    await database.pool.execute("DROP TRIGGER full_disk ON calls")
    await clock.advance(SECOND)
    assert await count(database) == 2


async def test_notes_survive_a_lost_connection(
    database: Database, clock: HeldClock, account: AccountId, call_log: CallLog
) -> None:
    """A session that ends in mid-write costs neither a loss nor a double count."""
    blocker = await asyncpg.connect(database.address.direct)
    async with blocker.transaction():
        await blocker.execute("LOCK TABLE calls IN EXCLUSIVE MODE")
        call_log.note(account, WORK, "page", CallOutcome.OK)
        writing = asyncio.create_task(call_log.flush())
        waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        async with asyncio.timeout(PATIENCE):
            while not (pid := await database.pool.fetchval(waiting)):
                pass  # asked again: the question itself takes its time
        await blocker.execute("SELECT pg_terminate_backend($1)", pid)
        with pytest.raises((asyncpg.PostgresError, OSError, asyncpg.InterfaceError)):
            await writing
    await blocker.close()
    await call_log.flush()
    assert await count(database) == 1


async def test_a_write_whose_answer_was_lost_is_not_repeated(
    database: Database, clock: HeldClock, account: AccountId, call_log: CallLog
) -> None:
    """When the commit went through and only its answer did not, the same calls are not counted again.

    Invariant: calls-through-a-lane.
    """
    call_log.note(account, WORK, "page", CallOutcome.OK)
    batch = call_log._next_batch()
    assert batch is not None
    await call_log._write(batch)  # committed; what follows on success never ran
    await call_log.flush()
    assert await count(database) == 1
    assert call_log.waiting == 0


async def test_beyond_its_room_the_oldest_notes_are_dropped(
    database: Database, clock: HeldClock, account: AccountId
) -> None:
    """Memory has an end: the newest stay, and the loss is said once."""
    call_log = CallLog(database, clock, room=10)
    with capture_logs() as logs:
        for number in range(15):
            call_log.note(account, WORK, f"m{number:02}", CallOutcome.OK)
    assert [log["event"] for log in logs] == ["ledger.full"]
    await call_log.close()
    methods = await database.pool.fetch("SELECT method FROM calls ORDER BY method")
    assert [row["method"] for row in methods] == [f"m{number:02}" for number in range(5, 15)]


async def test_closing_gives_up_with_a_word(database: Database, clock: HeldClock, account: AccountId) -> None:
    """A database that stays away does not hold the process for ever; the log says how many calls were lost."""
    call_log = CallLog(database, clock)
    call_log.note(account, WORK, "page", CallOutcome.OK)
    await database.pool.execute("ALTER TABLE calls RENAME TO away")
    with capture_logs() as logs:
        closing = asyncio.create_task(call_log.close())
        await clock.advance(10 * SECOND)
        await closing
    assert [(log["event"], log.get("calls")) for log in logs][-1] == ("ledger.lost", 1)


async def test_sums(database: Database, clock: HeldClock, account: AccountId, call_log: CallLog) -> None:
    """What it cost: what was never handed over is told apart, so that the count equals the platform's own."""
    await charged(database, account, clock)
    for outcome in CallOutcome:
        call_log.note(account, WORK, "send", outcome, cycle=1)
    call_log.note(account, CONNECT, "login", CallOutcome.OK)
    call_log.note(AccountId(99), WORK, "send", CallOutcome.OK)
    await call_log.flush()
    async with database.pool.acquire() as connection:
        full = await calls.sums(connection)
        by_method = await calls.sums(connection, CallGrouping.METHOD)
        by_account = await calls.sums(connection, CallGrouping.ACCOUNT)
        by_cycle = await calls.sums(connection, CallGrouping.CYCLE)
    assert full == [
        CallSum("shop", CONNECT, "login", None, count=1, errors=0, not_sent=0, unanswered=0),
        CallSum("shop", WORK, "send", None, count=6, errors=3, not_sent=1, unanswered=2),
        CallSum("99", WORK, "send", None, count=1, errors=0, not_sent=0, unanswered=0),
    ]
    assert [(one.account, one.method, one.count) for one in by_method] == [(None, "login", 1), (None, "send", 7)]
    assert [(one.account, one.kind, one.count) for one in by_account] == [
        ("shop", CONNECT, 1), ("shop", WORK, 6), ("99", WORK, 1),
    ]  # fmt: skip
    assert ("shop", 1, 5) in [(one.account, one.cycle, one.count) for one in by_cycle]


async def test_old_calls_are_removed_in_batches(
    database: Database, clock: HeldClock, account: AccountId, call_log: CallLog
) -> None:
    """everything-kept-ends: the ledger has an end, reached in small steps, the oldest first."""
    for day in range(5):
        call_log.note(account, WORK, "page", CallOutcome.OK, at=clock.now() - timedelta(days=day))
    await call_log.flush()
    async with database.pool.acquire() as connection:
        before = clock.now() - timedelta(hours=1)
        assert [await calls.prune(connection, before, limit=3) for _ in range(3)] == [3, 1, 0]
    assert await count(database) == 1
