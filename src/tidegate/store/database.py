"""The road to PostgreSQL: a pool for work, direct connections for locks and LISTEN."""

from __future__ import annotations

import asyncio
import copy
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from tidegate.errors import TidegateError
from tidegate.store.bell import Bell
from tidegate.store.reaching import PATIENCE, connect, explained

Connection: TypeAlias = asyncpg.Connection | PoolConnectionProxy

OLDEST_SERVER = 14

AWAY = (
    OSError,  # time-outs among them
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # the server is stopping, starting, or somebody ended the session
    asyncpg.InsufficientResourcesError,  # no connection, memory or disk left
    asyncpg.TransactionRollbackError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)
"""What is raised when the database is away, restarting or short of something, so that asking again later may help."""

TROUBLE = (*AWAY, asyncpg.PostgresError)
"""Anything the database may raise: what a process that has to live on tells, and tries again."""


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

    def __init__(self, address: Address, pool: asyncpg.Pool, name: str) -> None:
        self.address = address
        self.name = name
        self.pool = pool
        self.bell = Bell(pool)
        self._seconds: float | None = None

    @classmethod
    async def open(cls, address: Address, *, connections: int = 10, name: str | None = None) -> Database:
        # Sessions are named after this process alone, so that those of an ended worker can be told and ended.
        name = name or f"tidegate {secrets.token_hex(4)}"
        if address.pooled:
            # A pooler in transaction mode mixes up prepared statements and refuses settings, so there are none.
            how: dict[str, Any] = {"statement_cache_size": 0}
        else:
            how = {"server_settings": {"application_name": name, "idle_in_transaction_session_timeout": "60s"}}
        with explained(address.url):
            # None is kept open for nothing: a restart of the server would end it behind everybody's back.
            pool = await asyncpg.create_pool(
                address.url,
                min_size=0,
                max_size=connections,
                init=_prepare,
                reset=_leave_as_it_is,
                timeout=PATIENCE,
                **how,
            )
            try:
                require_supported(int(await pool.fetchval("SHOW server_version_num")))
            except BaseException:
                await pool.close()
                raise
        return cls(address, pool, name)

    async def close(self) -> None:
        """Close in order; what does not come back in time is cut, so that nobody's end hangs on the database."""
        await self.bell.close()
        try:
            async with asyncio.timeout(PATIENCE / 2):
                await self.pool.close()
        except TimeoutError:
            self.pool.terminate()

    def within(self, span: timedelta) -> Database:
        """The same for whoever cannot wait for ever: a connection serves so long, and then the database is away."""
        bounded = copy.copy(self)
        bounded._seconds = span.total_seconds()
        return bounded

    def connection(self) -> AbstractAsyncContextManager[Connection]:
        """A connection for single statements.

        Waiting for one and giving it back are bounded: a server that was cut off would otherwise hold whoever gives
        one back for ever, and no time-out around it would help.
        """
        return self.pool.acquire(timeout=PATIENCE) if self._seconds is None else _within(self.pool, self._seconds)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A transaction of several statements; rows are locked in law 9's order: account, run, target, part, event."""
        async with self.connection() as connection:
            with self.bell.after_commit(connection):
                async with connection.transaction():
                    yield connection

    async def direct(self, name: str, **server_settings: str) -> asyncpg.Connection:
        """A session of one's own, for locks and LISTEN, under *name* in ``pg_stat_activity``."""
        connection = await connect(self.address.direct, name=name)
        try:
            await _prepare(connection)
            # Set afterwards, because a pooler in session mode refuses to connect with settings it does not know.
            for setting, value in server_settings.items():
                await connection.execute("SELECT set_config($1, $2, false)", setting, value)
        except BaseException:
            connection.terminate()
            raise
        return connection


@asynccontextmanager
async def _within(pool: asyncpg.Pool, seconds: float) -> AsyncIterator[Connection]:
    """Take back what is not answered in time; a server that does not even react to that is hung up on."""
    letting_go = min(seconds, PATIENCE)
    async with asyncio.timeout(seconds), pool.acquire(timeout=letting_go) as connection:
        hanging_up = asyncio.get_running_loop().call_later(seconds + letting_go, connection.terminate)
        try:
            yield connection
        finally:
            hanging_up.cancel()


def require_supported(version_number: int) -> None:
    """Refuse a server older than Tidegate's SQL; *version_number* is PostgreSQL's own, such as 150006."""
    version = version_number // 10_000
    if version < OLDEST_SERVER:
        raise TidegateError(
            f"The PostgreSQL server has version {version}; Tidegate needs {OLDEST_SERVER} or newer. "
            "Upgrade the server, or leave DATABASE_URL out to use the embedded one."
        )


async def _prepare(connection: Connection) -> None:
    def encode(value: Any) -> str:
        return json.dumps(value)

    await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=encode, decoder=json.loads)


async def _leave_as_it_is(connection: Connection) -> None:
    """Spare the round trip of a reset: nobody changes a pooled session, and open transactions are ended anyway."""
