"""Applying the schema's steps with alembic; a module of its own because loading alembic takes half a second."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import asyncpg
from alembic import command, op
from alembic.config import Config
from sqlalchemy import Connection as SyncConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine

from tidegate.database.migrations import FOLDER

Work = Callable[[asyncpg.Connection], Awaitable[None]]


def run(sql: str) -> None:
    """Run a step's SQL unchanged, many statements at once, inside alembic's transaction."""
    op.get_bind().connection.dbapi_connection.run_async(lambda raw: raw.execute(sql))  # type: ignore[union-attr]


def work(task: Work) -> None:
    """Do what SQL cannot, on the step's own connection and inside alembic's transaction."""
    op.get_bind().connection.dbapi_connection.run_async(task)  # type: ignore[union-attr]


async def apply(
    open_session: Callable[[], Awaitable[asyncpg.Connection]],
    *,
    first: Work,
    then: Work,
    at: tuple[str, Work] | None = None,
) -> None:
    """Do *first*, every missing step, and *then*, all in one transaction.

    *at* names a step after which something is to be done, before the steps that follow it.
    """
    engine = create_async_engine("postgresql+asyncpg://", async_creator=open_session)
    raw: asyncpg.Connection | None = None
    try:
        async with engine.begin() as connection:
            await connection.exec_driver_sql("SELECT 1")  # only a statement of its own makes the engine begin
            raw = (await connection.get_raw_connection()).driver_connection
            assert raw is not None
            await first(raw)
            if at is not None:
                step, halfway = at
                await connection.run_sync(_to, step)
                await halfway(raw)
            await connection.run_sync(_to_head)
            await then(raw)
    except DBAPIError as problem:
        if raw is not None and raw.is_closed():  # what failed was only the end of a transaction that is lost anyway
            raise asyncpg.ConnectionDoesNotExistError("the connection was lost") from problem
        raise
    finally:
        await engine.dispose()


def _to_head(connection: SyncConnection) -> None:
    _to(connection, "head")


def _to(connection: SyncConnection, step: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, step)
