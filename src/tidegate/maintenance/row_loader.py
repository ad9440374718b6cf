"""Fills the tables of a database with the rows of a dump.

The tables were made by our own steps, so nothing that a dump says about tables, functions or triggers is ever run.
References and indexes are dropped before the rows are loaded and made again afterwards, as ``pg_restore`` does. So the
tables may come in any order, and loading takes a fraction of the time.
"""

from __future__ import annotations

from asyncio import StreamReader
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from tidegate.core.platform import library_schemas
from tidegate.database.embedded.dump_programs import Tell
from tidegate.database.pool import Connection
from tidegate.maintenance.dump_rows import DumpText, SequenceCounter, TableRows
from tidegate.maintenance.platform_library_tables import TableStatements

VERSION_TABLE = "public.alembic_version"


async def load(
    connection: asyncpg.Connection, dump: StreamReader, libraries: TableStatements | None, *, tell: Tell
) -> dict[str, int]:
    """Load the rows and counters of *dump* into the existing tables, and into those of platforms' libraries.

    Returns how many rows each table got; unknown tables of the dump are left out. Call it inside a transaction. The
    row with the schema's version is not changed.
    """
    await connection.execute(
        "SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0; "
        "SET LOCAL standard_conforming_strings = on"
    )
    async with without_rules(connection), _library_tables(connection, libraries):
        return await _fill(connection, DumpText(dump), tell)


async def _fill(connection: asyncpg.Connection, dump: DumpText, tell: Tell) -> dict[str, int]:
    counters = await _names(connection, "S")
    tables = await _names(connection, "r") - {VERSION_TABLE}
    await connection.execute(f"TRUNCATE {', '.join(sorted(tables))}")  # steps have put rows there, too
    loaded: dict[str, int] = {}
    async for part in dump.parts():
        if isinstance(part, SequenceCounter):
            await _set_counter(connection, part, counters)
        elif (name := f"{part.schema}.{part.table}") in tables:
            tell(name.removeprefix("public."))
            loaded[name] = await _copy(connection, part, dump)
        else:
            async for _ in dump.content():
                pass
    return loaded


async def _copy(connection: asyncpg.Connection, rows: TableRows, dump: DumpText) -> int:
    done = await connection.copy_to_table(
        rows.table, schema_name=rows.schema, columns=rows.columns, source=dump.content(), encoding=dump.encoding
    )
    return int(done.removeprefix("COPY "))


async def _set_counter(connection: asyncpg.Connection, counter: SequenceCounter, known: set[str]) -> None:
    name = f"{counter.schema}.{counter.name}"
    if name in known:
        await connection.execute("SELECT setval($1::text::regclass, $2, $3)", name, counter.value, counter.used)


async def _names(connection: asyncpg.Connection, kind: str) -> set[str]:
    """The relations of a kind, Tidegate's and those of platforms' libraries."""
    rows = await connection.fetch(
        """
        SELECT format('%I.%I', nspname, relname) AS name
        FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
        WHERE nspname = ANY ($1) AND relkind = $2 AND NOT EXISTS (
            SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')
        """,
        ["public", *library_schemas()],
        kind.encode(),
    )
    return {row["name"] for row in rows}


@asynccontextmanager
async def _library_tables(connection: asyncpg.Connection, found: TableStatements | None) -> AsyncIterator[None]:
    """The tables of platforms' libraries, without rows; their keys, references and indexes come at the end."""
    if found is None:
        yield
        return
    for schema in library_schemas():
        await connection.execute(f"CREATE SCHEMA {schema}")
    for statement in found.tables:
        await connection.execute(statement)
    yield
    for statement in found.rules:
        await connection.execute(statement)


@asynccontextmanager
async def without_rules(connection: Connection) -> AsyncIterator[None]:
    """Take references, indexes and triggers of our own tables away, and make them again at the end."""
    references = await connection.fetch(
        """
        SELECT conrelid::regclass::text AS table, quote_ident(conname) AS name, pg_get_constraintdef(oid) AS definition
        FROM pg_constraint
        WHERE contype = 'f' AND connamespace = 'public'::regnamespace
        ORDER BY oid
        """
    )
    indexes = await connection.fetch(
        """
        SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
        FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        WHERE relnamespace = 'public'::regnamespace AND NOT EXISTS (
            SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u', 'x'))
        ORDER BY indexrelid
        """
    )
    triggered = await connection.fetch(
        """
        SELECT DISTINCT tgrelid::regclass::text AS table
        FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
        WHERE relnamespace = 'public'::regnamespace AND NOT tgisinternal
        """
    )
    for reference in references:
        await connection.execute(f"ALTER TABLE {reference['table']} DROP CONSTRAINT {reference['name']}")
    for index in indexes:
        await connection.execute(f"DROP INDEX {index['name']}")
    for trigger in triggered:
        await connection.execute(f"ALTER TABLE {trigger['table']} DISABLE TRIGGER USER")
    yield
    for trigger in triggered:
        await connection.execute(f"ALTER TABLE {trigger['table']} ENABLE TRIGGER USER")
    for index in indexes:
        await connection.execute(index["definition"])
    for reference in references:
        await connection.execute(
            f"ALTER TABLE {reference['table']} ADD CONSTRAINT {reference['name']} {reference['definition']}"
        )
