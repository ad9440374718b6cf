"""A database that uses the held clock, so that an hour of sends takes seconds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import asyncpg

from tidegate.core.clock import HeldClock
from tidegate.database.pool import Database


async def hold(database: Database, start: datetime) -> None:
    """Have ``clock_now()`` answer what the table ``held_clock`` says from now on."""
    await database.pool.execute(
        f"""
        CREATE TABLE held_clock AS SELECT '{start.isoformat()}'::timestamptz AS now;
        CREATE OR REPLACE FUNCTION clock_now() RETURNS timestamptz LANGUAGE sql VOLATILE
        AS 'SELECT now FROM held_clock';
        """
    )


@asynccontextmanager
async def holding(database: Database, start: datetime) -> AsyncIterator[HeldClock]:
    """A held clock that the database's ``clock_now()`` follows and that stands still while a statement is running."""
    clock = HeldClock(start)
    session = await asyncpg.connect(database.address.direct)
    try:
        await hold(database, start)

        async def follow(now: datetime) -> None:
            await session.execute("UPDATE held_clock SET now = $1", now)

        clock.on_jump(follow)
        clock.busy_when(lambda: in_use(database) > 0)
        yield clock
    finally:
        await session.close()


def in_use(database: Database) -> int:
    """How many of the pool's connections are taken, those that are just connecting included."""
    pool: Any = database.pool  # its own names for them: those it shows leave out connections still being made
    return int(len(pool._holders) - pool._queue.qsize())
