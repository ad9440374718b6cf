"""The schema and its steps."""

import pytest

from tidegate.database.migrations import HEAD
from tidegate.database.migrations.upgrade import version
from tidegate.database.pool import Database

pytestmark = pytest.mark.both_servers


async def test_a_new_database_is_at_the_newest_step(database: Database) -> None:
    """The template every test starts from was made by the same steps an operator's database is."""
    async with database.pool.acquire() as connection:
        assert await version(connection) == HEAD
