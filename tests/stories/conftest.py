"""Worlds for stories, on the shared server and on one that may be restarted."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.servers import OwnServer
from tidegate.database.embedded.pg_programs import wheel_programs
from tidegate.database.migrations.upgrade import upgrade
from tidegate.database.pool import Address, Database
from tidegate.loopback.counting_world import World, make_world


@pytest.fixture
async def world(address: Address, database: Database, test_folder: Path) -> AsyncIterator[World]:
    async with make_world(address, database, test_folder / "home") as world:
        yield world


@pytest.fixture
def own_server(test_folder: Path) -> Iterator[OwnServer]:
    """A server of the test's own, to be restarted."""
    server = OwnServer(test_folder / f"own-{os.getpid()}", wheel_programs())
    yield server
    server.leave()


@pytest.fixture
async def own_world(own_server: OwnServer, test_folder: Path) -> AsyncIterator[World]:
    """The world on a server of the test's own."""
    await upgrade(own_server.address.direct)
    database = await Database.open(own_server.address)
    async with make_world(own_server.address, database, test_folder / "home") as world:
        yield world
    await database.close()
