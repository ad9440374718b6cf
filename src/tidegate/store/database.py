"""The road to PostgreSQL: a pool for work, direct connections for locks and LISTEN."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from tidegate.errors import TidegateError
from tidegate.store.bell import Bell

Connection: TypeAlias = asyncpg.Connection | PoolConnectionProxy

OLDEST_SERVER = 14


@dataclass(frozen=True, slots=True)
class Address:
    """Where the database is: *url* for work, perhaps through a pooler, and *direct* for locks and LISTEN."""

    url: str
    direct: str

    @property
    def pooled(self) -> bool:
        return self.url != self.direct


class Database:
    """A pool of connections to one database. Every statement of the house goes through it or ``direct``."""

    def __init__(self, address: Address, pool: asyncpg.Pool) -> None:
        self.address = address
        self.pool = pool
        self.bell = Bell(pool)

    @classmethod
    async def open(cls, address: Address, *, connections: int = 10) -> Database:
        # A pooler in transaction mode mixes up prepared statements, so none are kept behind one.
        kept = {"statement_cache_size": 0} if address.pooled else {}
        pool = await asyncpg.create_pool(address.url, min_size=1, max_size=connections, init=_prepare, **kept)
        database = cls(address, pool)
        await database._refuse_old_server()
        return database

    async def close(self) -> None:
        await self.bell.close()
        await self.pool.close()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A transaction of several statements; rows are locked in the order account, run, target, part, event (law 9)."""
        async with self.pool.acquire() as connection:
            with self.bell.after_commit(connection):
                async with connection.transaction():
                    yield connection

    async def direct(self, name: str, **server_settings: str) -> asyncpg.Connection:
        """A session of one's own, for locks and LISTEN, under *name* in ``pg_stat_activity``."""
        connection = await asyncpg.connect(
            self.address.direct, server_settings={"application_name": name, **server_settings}
        )
        await _prepare(connection)
        return connection

    async def _refuse_old_server(self) -> None:
        number: int = int(await self.pool.fetchval("SHOW server_version_num")) // 10_000
        if number < OLDEST_SERVER:
            await self.close()
            raise TidegateError(f"The PostgreSQL server has version {number}; Tidegate needs {OLDEST_SERVER} or newer.")


async def _prepare(connection: Connection) -> None:
    def encode(value: Any) -> str:
        return json.dumps(value)

    await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=encode, decoder=json.loads)
