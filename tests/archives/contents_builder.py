"""Contents of archives, stored by hand."""

from __future__ import annotations

import pytest

from tests.archives.waiting_sets import add_reader
from tidegate.archives.queries import indexing_queue
from tidegate.archives.queries.indexing_queue import TakenSet
from tidegate.archives.rules.contained_file import ContainedFile
from tidegate.core.ids import AccountId
from tidegate.database.pool import Database


@pytest.fixture
async def reader(database: Database) -> AccountId:
    """An account that reads one enabled channel."""
    return await add_reader(database)


async def keep(database: Database, taken: TakenSet, *paths: str) -> bool:
    async with database.transaction() as connection:
        return await indexing_queue.keep(
            connection, taken, [ContainedFile(path, 5, encrypted=False) for path in paths], []
        )
