"""A database without a schema."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.conftest import on_database
from tidegate.database.pool import Address


@pytest.fixture
async def bare(server: Address, address: Address) -> AsyncIterator[Address]:
    """A database without anything in it."""
    name = f"bare_{address.direct.partition('?')[0].rpartition('/')[2]}"
    connection = await asyncpg.connect(server.direct)
    await connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    yield on_database(server, name)
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()
