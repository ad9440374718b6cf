"""Moving the embedded database to a server of the operator's own."""

from __future__ import annotations

from pathlib import Path

import asyncpg

from tidegate.errors import TidegateError
from tidegate.store.backup import PLAIN, finish_restore, require_empty
from tidegate.store.embedded import Seat
from tidegate.store.reaching import connect, place
from tidegate.store.tools import Tell, pour
from tidegate.store.upgrade import others, require_current, version

_NAME = "tidegate move"


async def move(seat: Seat, target: str, *, tell: Tell) -> Path:
    """Copy the embedded database to the empty one at *target* and close this one for good; returns the marker's path.

    Nothing of the source is changed until the copy is whole and counted; interrupted before, it is as it was.
    """
    source = seat.address.direct
    await require_empty(target)
    with seat.alone():
        at = await _refuse_used(source)
        await pour(  # all but the row that declares it whole
            "pg_dump", *PLAIN, "--exclude-table-data=alembic_version",
            source=place(source), into=place(target), tell=lambda table: tell(f"moving {table}"),
        )  # fmt: skip
        tell("counting rows on both sides")
        await _compare(source, target)
        await finish_restore(target, at)
        return seat.mark_moved(str(place(target)))


async def _refuse_used(source: str) -> str:
    connection = await connect(source, name=_NAME)
    try:
        if names := await others(connection):
            raise TidegateError(f"Others are using the database: {', '.join(names)}. Stop them, then move it.")
        at = await version(connection)
        require_current(at)
        assert at is not None
        return at
    finally:
        await connection.close()


async def _compare(source: str, target: str) -> None:
    here, there = await _counts(source), await _counts(target)
    for table, rows in here.items():
        if rows != there.get(table):
            raise TidegateError(
                f"The copy is not whole: table {table} has {rows} rows here and {there.get(table, 'none')} there. "
                "Nothing was changed here; empty the target and try again."
            )


async def _counts(dsn: str) -> dict[str, int]:
    connection = await connect(dsn, name=_NAME)
    try:
        tables = await connection.fetch(
            """
            SELECT format('%I.%I', schemaname, tablename) AS name
            FROM pg_tables
            WHERE schemaname <> 'information_schema' AND schemaname NOT LIKE 'pg\\_%' AND tablename <> 'alembic_version'
            ORDER BY 1
            """
        )
        return {row["name"]: await _count(connection, row["name"]) for row in tables}
    finally:
        await connection.close()


async def _count(connection: asyncpg.Connection, table: str) -> int:
    rows: int = await connection.fetchval(f"SELECT count(*) FROM {table}")
    return rows
