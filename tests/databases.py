"""Databases of a test's own: made empty, and compared by schema and by rows."""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from tests.conftest import on_database
from tidegate.database.embedded.pg_programs import wheel_programs
from tidegate.database.pool import Address

_numbers = itertools.count()

MARK = "pg_attver="
"""What servers since the releases of November 2026 write into the options of every column."""


@asynccontextmanager
async def empty_database(server: Address, *, template: str = "template0") -> AsyncIterator[Address]:
    """A database for the time of the block: empty, or a copy of *template*."""
    name = f"r_{os.getpid()}_{next(_numbers)}"
    connection = await asyncpg.connect(server.direct)
    try:
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        yield on_database(server, name)
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await connection.close()


async def rows(address: Address) -> dict[str, list[str]]:
    """Every row of every table, as text."""
    connection = await asyncpg.connect(address.direct)
    try:
        tables = [
            row["tablename"]
            for row in await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        ]
        return {
            table: [row[0] for row in await connection.fetch(f"SELECT t::text FROM {table} t ORDER BY 1")]
            for table in tables
        }
    finally:
        await connection.close()


def schema(address: Address, *options: str) -> list[str]:
    """The whole schema as SQL, without remarks, the random mark of each dump, and those of a server's columns."""
    said = subprocess.run(
        [wheel_programs() / "pg_dump", "--schema-only", "--no-owner", *options, "--dbname", address.direct],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    return [line for line in said.splitlines() if line and not line.startswith(("--", "\\")) and MARK not in line]
