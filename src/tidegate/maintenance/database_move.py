"""Moving the embedded database to a server of the operator's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import asyncpg

from tidegate.core.errors import TidegateError
from tidegate.core.platform import library_schemas
from tidegate.database.embedded.dump_programs import Tell, answer, output
from tidegate.database.embedded.server import ServerLease
from tidegate.database.migrations.upgrade import others, require_current, version
from tidegate.database.pg_address import connect, place
from tidegate.database.pool import Address
from tidegate.maintenance import database_copies
from tidegate.maintenance.backup_restore import PLAIN, fill, require_empty
from tidegate.maintenance.dump_objects import names_in, tell_left_out
from tidegate.maintenance.platform_library_tables import TableStatements, recognised
from tidegate.maintenance.row_loader import VERSION_TABLE, load

_NAME = "tidegate move"


async def move(lease: ServerLease, target: str, *, tell: Tell) -> Path:
    """Copy the embedded database to the empty one at *target* and close this one for good; returns the marker's path.

    Nothing of the source is changed until the copy is complete and counted. An interruption before leaves both
    unchanged.
    """
    await require_empty(target)
    with lease.alone():
        source = await connect(lease.address.direct, name=_NAME)
        try:
            await _copy(source, lease.address, target, tell)
        finally:
            await source.close()
        marker = lease.mark_moved(str(place(target)))
        await database_copies.leave(lease.address.direct)
        return marker


async def _finish_copy(connection: asyncpg.Connection) -> None:
    """Keep all access valid: the source was not used during the move."""
    await database_copies.reset_work(connection)
    await database_copies.note_place(connection)


async def _copy(source: asyncpg.Connection, address: Address, target: str, tell: Tell) -> None:
    at = await _refuse_used(source)
    libraries = await _library_tables(source, address)
    left_out: list[str] = []

    async def take_rows(connection: asyncpg.Connection) -> None:
        left_out.extend(sorted(await names_in(source) - await names_in(connection)))
        async with output("pg_dump", "--data-only", *PLAIN, source=address) as text:
            copied = await load(connection, text, libraries, tell=lambda table: tell(f"moving {table}"))
        tell("counting rows on both sides")
        _compare(await _counts(source), copied)

    await fill(target, at, take_rows, then=_finish_copy)
    tell_left_out(left_out, tell)


async def _refuse_used(source: asyncpg.Connection) -> str:
    if names := await others(source):
        raise TidegateError(f"Others are using the database: {', '.join(names)}. Stop them, then move it.")
    at = await version(source)
    require_current(at)
    assert at is not None
    return at


async def _library_tables(source: asyncpg.Connection, address: Address) -> TableStatements | None:
    """The tables that platforms' libraries made for themselves, if there are any."""
    schemas = [one for one in library_schemas() if await source.fetchval("SELECT to_regnamespace($1)", one) is not None]
    if not schemas:
        return None
    only = [f"--schema={one}" for one in schemas]
    return recognised(await answer("pg_dump", "--schema-only", *only, *PLAIN, source=address))


def _compare(here: Mapping[str, int], copied: Mapping[str, int]) -> None:
    for table, rows in here.items():
        if rows != copied.get(table):
            raise TidegateError(
                f"The copy is not whole: table {table} has {rows} rows here and {copied.get(table, 'none')} there. "
                "Nothing was changed on either side."
            )


async def _counts(source: asyncpg.Connection) -> dict[str, int]:
    tables = await source.fetch(
        """
        SELECT format('%I.%I', schemaname, tablename) AS name
        FROM pg_tables
        WHERE schemaname <> 'information_schema' AND schemaname NOT LIKE 'pg\\_%'
        ORDER BY 1
        """
    )
    names = [row["name"] for row in tables if row["name"] != VERSION_TABLE]
    return {name: await source.fetchval(f"SELECT count(*) FROM {name}") for name in names}
