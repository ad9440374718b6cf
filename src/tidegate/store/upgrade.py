"""Bringing a database to the schema this code knows, and telling when it is older or newer."""

from __future__ import annotations

import asyncpg
from alembic import command, op
from alembic.config import Config
from sqlalchemy import Connection as SyncConnection
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from tidegate.errors import TidegateError
from tidegate.store.schema import FOLDER, HEAD

_LOCK = 0x7469_6465  # "tide": one upgrade at a time


def run(sql: str) -> None:
    """Run a migration's SQL as it stands, many statements at once, inside alembic's transaction."""
    op.get_bind().connection.dbapi_connection.run_async(lambda raw: raw.execute(sql))  # type: ignore[union-attr]


async def version(connection: asyncpg.Connection) -> str | None:
    """The step the database is at; None for an empty one."""
    if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
        return None
    at: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
    return at


def require_current(at: str | None) -> None:
    """Refuse a database that this code cannot work on."""
    if at is not None and at > HEAD:
        raise TidegateError(
            f"The database is at schema {at}, newer than this Tidegate, which knows {HEAD}. Install the newer Tidegate again."
        )
    if at != HEAD:
        raise TidegateError(
            f"The database is at schema {at or 'none'}; this Tidegate needs {HEAD}. "
            "Stop its workers, then run: tidegate db upgrade"
        )


async def upgrade(dsn: str) -> str | None:
    """Apply every missing step in one transaction under an advisory lock; returns the step it started from."""
    engine = create_async_engine("postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(dsn))
    try:
        async with engine.begin() as connection:
            await connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
            raw = await connection.get_raw_connection()
            assert raw.driver_connection is not None
            before = await version(raw.driver_connection)
            if before is not None and before > HEAD:
                require_current(before)
            await connection.run_sync(_apply)
            return before
    finally:
        await engine.dispose()


def _apply(connection: SyncConnection) -> None:
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
