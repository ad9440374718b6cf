"""Upgrades a database to the schema this code knows, and recognises an older or newer one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import asyncpg

from tidegate.core.errors import TidegateError
from tidegate.database.migrations import HEAD, steps
from tidegate.database.pg_address import connect, place
from tidegate.database.pool import Connection

Work = Callable[[asyncpg.Connection], Awaitable[None]]

_LOCK = 0x7469_6465  # "tide": one upgrade at a time
NAME = "tidegate upgrade"
"""The name of an upgrade's sessions. Upgrades wait for each other, and do not count as other users."""


async def version(connection: Connection) -> str | None:
    """The step the database is at; None for an empty one."""
    if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
        return None
    at: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
    return at


def require_current(at: str | None) -> None:
    """Refuse a database whose schema this code cannot use."""
    _refuse_newer(at)
    if at is None:
        raise TidegateError("The database holds no Tidegate schema yet. Run: tidegate db upgrade")
    if at != HEAD:
        raise TidegateError(
            f"The database is at schema {at}; this Tidegate needs {HEAD}. "
            "Stop its workers, then run: tidegate db upgrade"
        )


async def upgrade(
    dsn: str, *, first: Work | None = None, at: tuple[str, Work] | None = None, then: Work | None = None
) -> str | None:
    """Apply every missing step and return the step it started from. A second process waits and finds nothing to do.

    *first* and *then* are done in the same transaction, before and after the steps, and what *at* names after a step.
    """
    before: str | None = None

    async def begin(connection: asyncpg.Connection) -> str | None:
        nonlocal before
        await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
        if first is not None:
            await first(connection)
        before = await version(connection)
        _refuse_newer(before)
        if before is None:
            await _refuse_foreign(connection, dsn)
        return before

    async def end(connection: asyncpg.Connection) -> None:
        if then is not None:
            await then(connection)

    await steps.apply(lambda: connect(dsn, name=NAME), first=begin, at=at, then=end)
    return before


async def others(connection: Connection) -> list[str]:
    """Who else is connected to this database, as names an operator recognises."""
    rows = await connection.fetch(
        """
        SELECT coalesce(nullif(application_name, ''), 'a nameless program') || ' (process ' || pid || ')' AS who
        FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend'
          AND pid <> pg_backend_pid() AND application_name <> $1
        ORDER BY pid
        """,
        NAME,
    )
    return [row["who"] for row in rows]


async def is_empty(connection: asyncpg.Connection) -> bool:
    """Whether the database holds no table, view, sequence or function at all."""
    found = await connection.fetchval(
        """
        WITH ours AS (
            SELECT oid FROM pg_namespace WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%'
        )
        SELECT EXISTS (SELECT FROM pg_class WHERE relnamespace IN (SELECT oid FROM ours) AND NOT EXISTS (
                           SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e'))
            OR EXISTS (SELECT FROM pg_proc WHERE pronamespace IN (SELECT oid FROM ours) AND NOT EXISTS (
                           SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e'))
        """
    )
    return not found


def _refuse_newer(at: str | None) -> None:
    if at is not None and at > HEAD:
        raise TidegateError(
            f"The database is at schema {at}, newer than this Tidegate, which knows {HEAD}. "
            "Install the newer Tidegate again."
        )


async def refuse_others(connection: asyncpg.Connection) -> None:
    at = await version(connection)
    names = await others(connection)
    if names and at != HEAD:
        raise TidegateError(
            f"The database is at schema {at or 'none'}; this Tidegate needs {HEAD}, and others are using it: "
            f"{', '.join(names)}. Stop them, then run: tidegate db upgrade"
        )


async def _refuse_foreign(connection: asyncpg.Connection, dsn: str) -> None:
    if not await is_empty(connection):
        raise TidegateError(
            f"{place(dsn).sentence_start} holds tables but no Tidegate schema; was a restore into it cut short? "
            "Empty it (or create another) and try again."
        )
