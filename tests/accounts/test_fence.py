"""The fence before each write of an owner: nobody else passes it, and two writes of our own never block each other."""

from __future__ import annotations

import asyncio

import pytest

from tests.waiting import PATIENCE, until
from tidegate.accounts.queries import accounts
from tidegate.core.account import Claim, Standing
from tidegate.cycles.queries import cycles
from tidegate.database.pool import Database
from tidegate.platforms.telegram import TELEGRAM

pytestmark = pytest.mark.both_servers


@pytest.fixture
async def claim(database: Database) -> Claim:
    async with database.transaction() as connection:
        account = await accounts.add(connection, "shop", TELEGRAM, Standing.NORMAL, loopback=None)
    return Claim(account, epoch=0, deadline=float("inf"))


async def test_the_end_of_a_cycle_waits_for_writes_under_way_and_is_waited_for(
    database: Database, claim: Claim
) -> None:
    """Both go through a row of their work after the fence: without the stronger lock each would wait for the other."""
    await database.pool.execute("INSERT INTO channels (platform, number, title) VALUES ('telegram', 1, 'Hall')")
    fenced = asyncio.Event()

    async def end_cycle() -> None:
        async with database.transaction() as connection:
            await accounts.fence(connection, claim, to_change=True)
            await connection.execute("UPDATE channels SET title = 'Hall 2'")
            await cycles.advance(connection, claim, 1)

    async def write() -> None:
        async with database.transaction() as connection:
            await accounts.fence(connection, claim)
            fenced.set()
            await until(lambda: database.pool.fetchval("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"))
            await connection.execute("UPDATE channels SET title = 'Hall 1'")

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        group.create_task(write())
        await fenced.wait()
        group.create_task(end_cycle())
    assert await database.pool.fetchval("SELECT title FROM channels") == "Hall 2"
    assert await database.pool.fetchval("SELECT cycle FROM accounts") == 1
