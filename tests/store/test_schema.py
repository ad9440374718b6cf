"""The schema and its steps."""

from tidegate.store.database import Database
from tidegate.store.schema import HEAD
from tidegate.store.upgrade import version


async def test_a_new_database_is_at_the_newest_step(database: Database) -> None:
    """The template every test starts from was made by the same steps an operator's database is."""
    async with database.pool.acquire() as connection:
        assert await version(connection) == HEAD
