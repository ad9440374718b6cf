"""Connections to PostgreSQL: a pool for work, direct connections for locks and LISTEN."""

from __future__ import annotations

import asyncio
import copy
import secrets
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from tidegate.core.errors import TidegateError
from tidegate.database.notifier import Notifier
from tidegate.database.pg_address import PATIENCE, connect, explained
from tidegate.database.storable_connection import StorableConnection, prepare

Connection: TypeAlias = asyncpg.Connection | PoolConnectionProxy

OLDEST_SERVER = 14

AWAY = (
    OSError,  # time-outs among them
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # the server is stopping, starting, or an administrator ended the session
    asyncpg.InsufficientResourcesError,  # no connection, memory or disk left
    asyncpg.TransactionRollbackError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)
"""The errors when the database is unreachable, restarting or short of a resource, so that a later retry may help."""

TROUBLE = (*AWAY, asyncpg.PostgresError)
"""Anything the database may raise: a process that must not end logs it and tries again."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the database is: *url* for work, perhaps through a pooler, and *direct* for locks and LISTEN."""

    url: str
    direct: str
    is_embedded: bool = False

    @property
    def pooled(self) -> bool:
        return self.url != self.direct


_IDLE_SECONDS = 15
"""How long an unused connection stays open: each holds some megabytes of the server's memory."""


class Database:
    """A pool of connections to one database. Every statement goes through it or ``direct``."""

    def __init__(self, address: Address, pool: asyncpg.Pool, name: str) -> None:
        self.address = address
        self.name = name
        self.pool = pool
        self.notifier = Notifier(pool)
        self._seconds: float | None = None
        self._share: asyncio.Semaphore | None = None

    @classmethod
    async def open(cls, address: Address, *, connections: int = 10, name: str | None = None) -> Database:
        # Sessions are named after this process alone, so that those of an ended worker can be found and ended.
        name = name or f"tidegate {secrets.token_hex(4)}"
        if address.pooled:
            # A pooler in transaction mode mixes up prepared statements and refuses settings, so there are none.
            how: dict[str, Any] = {"statement_cache_size": 0}
        else:
            how = {"server_settings": {"application_name": name, "idle_in_transaction_session_timeout": "60s"}}
        with explained(address.url):
            # None is kept open idle: a restart of the server would close it unnoticed.
            pool = await asyncpg.create_pool(
                address.url,
                min_size=0,
                max_size=connections,
                connection_class=StorableConnection,
                init=prepare,
                reset=_leave_as_it_is,
                timeout=PATIENCE,
                max_inactive_connection_lifetime=_IDLE_SECONDS,
                **how,
            )
            try:
                require_supported(int(await pool.fetchval("SHOW server_version_num")))
            except BaseException:
                await pool.close()
                raise
        return cls(address, pool, name)

    async def close(self) -> None:
        """Close in order; connections that do not come back in time are cut, so that no process hangs at its end."""
        await self.notifier.close()
        try:
            async with asyncio.timeout(PATIENCE / 2):
                await self.pool.close()
        except TimeoutError:
            self.pool.terminate()

    async def renew_sessions(self) -> None:
        """Open each session of the embedded server anew before its next use.

        A session keeps what it has learned of every table and statement: 8 MB after a backfill, 4 MB when new.
        """
        if self.address.is_embedded:
            await self.pool.expire_connections()

    def within(self, span: timedelta, *, connections: int | None = None) -> Database:
        """The same with a time limit: a connection serves that long, and then the database counts as away.

        With *connections* it never uses more of them at once, so that others find the rest of the pool free.
        """
        bounded = copy.copy(self)
        bounded._seconds = span.total_seconds()
        if connections is not None:
            bounded._share = asyncio.Semaphore(connections)
        return bounded

    def connection(self) -> AbstractAsyncContextManager[Connection]:
        """A connection for single statements.

        Waiting for one and giving it back are bounded: a server that was cut off would otherwise block the
        caller for ever, and no timeout around it would help.
        """
        if self._seconds is None:
            return self.pool.acquire(timeout=PATIENCE)
        return _within(self.pool, self._seconds, self._share or nullcontext())

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A transaction of several statements; rows are locked in state-change-with-event's order: account, run,
        target, part, event.
        """
        async with self.connection() as connection:
            with self.notifier.after_commit(connection):
                async with connection.transaction():
                    yield connection

    async def direct(self, name: str, **server_settings: str) -> asyncpg.Connection:
        """A dedicated session for locks and LISTEN, under *name* in ``pg_stat_activity``."""
        connection = await connect(self.address.direct, name=name)
        try:
            await prepare(connection)
            # Set afterwards, because a pooler in session mode refuses to connect with settings it does not know.
            for setting, value in server_settings.items():
                await connection.execute("SELECT set_config($1, $2, false)", setting, value)
        except BaseException:
            connection.terminate()
            raise
        return connection


@asynccontextmanager
async def _within(
    pool: asyncpg.Pool, seconds: float, share: AbstractAsyncContextManager[None]
) -> AsyncIterator[Connection]:
    """Cancel a statement that is not answered in time; if the server does not react to that, close the connection."""
    letting_go = min(seconds, PATIENCE)
    async with asyncio.timeout(seconds), share, pool.acquire(timeout=letting_go) as connection:
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


def rows_deleted(done: str) -> int:
    """The number of rows in PostgreSQL's answer to a DELETE."""
    return int(done.removeprefix("DELETE "))


async def _leave_as_it_is(connection: Connection) -> None:
    """Save the round trip of a reset: pooled sessions are never changed, and open transactions are ended anyway."""


async def now_of(connection: Connection) -> datetime:
    """The instant it is by the database's clock, which a test may hold."""
    now: datetime = await connection.fetchval("SELECT clock_now()")
    return now


async def server_version(connection: Connection) -> str:
    """The version of the server as it names itself, such as 16.4."""
    version: str = await connection.fetchval("SHOW server_version")
    return version
