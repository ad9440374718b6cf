"""When a failed archive is really tried again, and what it waits for where nothing tries it by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.held import NOON, holding
from tidegate.accounts.queries import accounts
from tidegate.archives.documents import ArchiveRow, archive_row, archive_shown
from tidegate.archives.queries import archive_list
from tidegate.archives.queries.archive_search import ArchiveFilter
from tidegate.core.account import Standing
from tidegate.core.ids import WorkerNumber
from tidegate.database.pool import Database
from tidegate.platforms.telegram import TELEGRAM
from tidegate.workers.queries import workers

pytestmark = pytest.mark.both_servers

HOUR = timedelta(hours=1)


@pytest.fixture
async def archive(database: Database) -> AsyncIterator[int]:
    """An archive that failed once, a minute ago; its reader is active and has its next cycle in 40 minutes."""
    async with holding(database):
        async with database.transaction() as connection:
            await accounts.add(connection, "reader", TELEGRAM, Standing.NORMAL, loopback=None)
            await connection.execute("UPDATE accounts SET state = 'active', next_cycle_at = $1", NOON + HOUR * 2 / 3)
            channel = await connection.fetchval(
                "INSERT INTO channels (platform, number, title, reader, enabled) "
                "SELECT 'telegram', 7, 'Models', id, true FROM accounts RETURNING id"
            )
            number = await connection.fetchval(
                "INSERT INTO archives (channel, topic, kind, base, name, state) "
                "VALUES ($1, 0, 'tar', 'a', 'a.tar', 'failed') RETURNING id",
                channel,
            )
            await connection.execute(
                "INSERT INTO failures (archive, channel, topic, message, reason, attempts, next_try_at) "
                "VALUES ($1, $2, 0, 1, 'download', 1, $3)",
                number, channel, NOON - timedelta(minutes=1),
            )  # fmt: skip
        yield number


@asynccontextmanager
async def served(database: Database) -> AsyncIterator[None]:
    """A living worker serves the account."""
    number = WorkerNumber(1)
    who = workers.WorkerIdentity("here", "here", "host", "1", "0", 10, HOUR)
    async with database.connection() as session:
        await workers.take_lock(session, number)
        async with database.transaction() as connection:
            await workers.register(connection, number, who)
            await connection.execute("UPDATE accounts SET owner = $1", number)
        try:
            yield
        finally:
            await session.execute("SELECT pg_advisory_unlock_all()")


async def shown(database: Database, archive: int) -> ArchiveRow:
    """The archive as it is shown and as it is listed, which is the same."""
    async with database.connection() as connection:
        one = await archive_shown(connection, archive)
        [row] = await archive_list.listing(connection, ArchiveFilter(), most=5)
    listed = archive_row(row)
    assert (one.next_try_at, one.waits_for) == (listed.next_try_at, listed.waits_for)
    return listed


def at(told: str | None) -> datetime | None:
    return None if told is None else datetime.fromisoformat(told)


@pytest.mark.parametrize(
    ("rests_until", "expected"),
    [(NOON - HOUR, NOON + HOUR * 2 / 3), (NOON + HOUR / 2, NOON + HOUR * 2 / 3), (NOON + 2 * HOUR, NOON + 2 * HOUR)],
)
async def test_it_is_tried_in_a_cycle_of_its_account(
    database: Database, archive: int, rests_until: datetime, expected: datetime
) -> None:
    """The first cycle after its rest, and never an instant that has passed."""
    await database.pool.execute("UPDATE failures SET next_try_at = $1", rests_until)
    async with served(database):
        told = await shown(database, archive)
    assert (at(told.next_try_at), told.waits_for) == (expected, None)


async def test_a_cycle_that_is_due_makes_the_try_now(database: Database, archive: int) -> None:
    """The cycle is running or about to: the instant is now, not the one that was foreseen."""
    await database.pool.execute("UPDATE accounts SET next_cycle_at = $1", NOON - HOUR)
    async with served(database):
        assert at((await shown(database, archive)).next_try_at) == NOON


async def test_a_parked_channel_is_tried_when_its_wait_is_over(database: Database, archive: int) -> None:
    """The platform has the channel wait for longer than the next cycle is away."""
    await database.pool.execute("UPDATE channels SET parked_until = $1", NOON + 3 * HOUR)
    async with served(database):
        assert at((await shown(database, archive)).next_try_at) == NOON + 3 * HOUR


@pytest.mark.parametrize(
    ("change", "waits_for"),
    [
        ("UPDATE accounts SET state = 'paused'", "account resume"),
        ("UPDATE accounts SET state = 'signed_out'", "account sign-in"),
        ("UPDATE accounts SET state = 'banned'", "ban"),
        ("UPDATE channels SET enabled = false", "channel enable"),
        ("UPDATE channels SET reader = NULL", "an account that can read its channel"),
        ("UPDATE channels SET state = 'unreadable'", "an account that can read its channel"),
        ("UPDATE failures SET reason = 'size_limit'", "archive_size_limit"),
        ("UPDATE archives SET state = 'given_up'", "archive retry"),
    ],
)
async def test_what_nothing_tries_has_no_instant_and_says_why(
    database: Database, archive: int, change: str, waits_for: str
) -> None:
    """Instead of a time that comes and goes there is what to do."""
    await database.pool.execute(change)
    async with served(database):
        told = await shown(database, archive)
    assert told.next_try_at is None
    assert waits_for in (told.waits_for or "")


async def test_without_a_worker_only_a_rest_has_an_end(database: Database, archive: int) -> None:
    """Nobody makes the next cycle: what is due has no instant, what rests is not tried before its rest is over."""
    told = await shown(database, archive)
    assert (told.next_try_at, "worker" in (told.waits_for or "")) == (None, True)
    await database.pool.execute("UPDATE failures SET next_try_at = $1", NOON + HOUR)
    told = await shown(database, archive)
    assert (at(told.next_try_at), "worker" in (told.waits_for or "")) == (NOON + HOUR, True)


async def test_a_person_comes_before_the_size_limit(database: Database, archive: int) -> None:
    """What somebody asked for is tried in the next cycle, however large it is."""
    await database.pool.execute("UPDATE failures SET reason = 'size_limit', by_hand = true")
    async with served(database):
        assert at((await shown(database, archive)).next_try_at) == NOON + HOUR * 2 / 3


@pytest.mark.parametrize("change", ["UPDATE accounts SET state = 'paused'", "UPDATE channels SET enabled = false"])
async def test_what_waits_for_its_turn_says_what_keeps_the_turn_from_coming(
    database: Database, archive: int, change: str
) -> None:
    """The same holds for one that never failed: there is no next cycle to wait for."""
    await database.pool.execute("DELETE FROM failures")
    await database.pool.execute("UPDATE archives SET state = 'waiting'")
    async with served(database):
        before: Any = (await shown(database, archive)).waits_for
        await database.pool.execute(change)
        after = (await shown(database, archive)).waits_for
    assert "next cycle" in before
    assert "tidegate" in (after or "")
