"""A database in which somebody holds tables."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from tidegate.database.pool import Database

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@asynccontextmanager
async def stalled(database: Database, *tables: str) -> AsyncIterator[None]:
    """Nothing about these tables is answered meanwhile: somebody holds them."""
    holder = await asyncpg.connect(database.address.direct)
    try:
        async with holder.transaction():
            for table in tables:
                await holder.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            yield
    finally:
        await holder.close()
