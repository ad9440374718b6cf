"""Applying the schema's steps, each a module of ``versions`` that names its SQL and its work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module

import asyncpg

from tidegate.database.migrations import FOLDER, HEAD

Work = Callable[[asyncpg.Connection], Awaitable[object]]

_TABLE = """
CREATE TABLE alembic_version (version_num varchar(32) NOT NULL CONSTRAINT alembic_version_pkc PRIMARY KEY)
"""
"""The name and shape that Alembic gave it, which applied the steps of earlier releases."""

_tasks: list[Work] = []
"""What the step that is being read has named so far."""


def run(sql: str) -> None:
    """Have a step run SQL unchanged, many statements at once."""
    work(lambda connection: connection.execute(sql))


def work(task: Work) -> None:
    """Have a step do what SQL cannot, on the connection and inside the transaction of the upgrade."""
    _tasks.append(task)


async def apply(
    open_session: Callable[[], Awaitable[asyncpg.Connection]],
    *,
    first: Callable[[asyncpg.Connection], Awaitable[str | None]],
    then: Work,
    at: tuple[str, Work] | None = None,
    last: str = HEAD,
) -> None:
    """Do *first*, every step up to *last* after the one it names, and *then*, all in one transaction.

    *at* names a step after which something is to be done, before the steps that follow it.
    """
    connection = await open_session()
    try:
        async with connection.transaction():
            before = await first(connection)
            if before is None:
                await connection.execute(_TABLE)
            halfway, work_there = at or (last, None)
            await _take(connection, before, halfway)
            if work_there is not None:
                await work_there(connection)
            await _take(connection, max(before or halfway, halfway), last)
            await then(connection)
    except asyncpg.InterfaceError as problem:
        if connection.is_closed():  # what failed was only the end of a transaction that is lost anyway
            raise asyncpg.ConnectionDoesNotExistError("the connection was lost") from problem
        raise
    finally:
        await connection.close()


async def _take(connection: asyncpg.Connection, before: str | None, last: str) -> None:
    """Take every step after *before*, up to *last*."""
    for name in sorted(path.stem for path in (FOLDER / "versions").glob("[0-9]*.py")):
        step = name.partition("_")[0]
        if (before or "") < step <= last:
            for task in _tasks_of(name):
                await task(connection)
            await connection.execute(
                f"INSERT INTO alembic_version VALUES ('{step}')"
                if before is None
                else f"UPDATE alembic_version SET version_num = '{step}'"
            )
            before = step


def _tasks_of(name: str) -> list[Work]:
    step = import_module(f"tidegate.database.migrations.versions.{name}")
    _tasks.clear()
    step.upgrade()
    return _tasks.copy()
