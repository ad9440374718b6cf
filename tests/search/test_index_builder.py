"""Indexes of search that an upgrade left out are built while messages are used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tests.held import NOON
from tests.history.message_builder import channel
from tidegate.core.clock import SystemClock
from tidegate.core.ids import MessageId
from tidegate.database.pool import Database
from tidegate.history.queries import messages
from tidegate.platforms.interface import Message
from tidegate.search.index_builder import build_missing
from tidegate.search.queries import search_indexes
from tidegate.search.queries.ranked_hits import search
from tidegate.search.rules.query_language import read_query

_OF_AN_EARLIER_RELEASE = """
    DROP INDEX messages_found, messages_sampled;
    CREATE INDEX messages_words ON messages USING gin (words);
    CREATE INDEX messages_sampled ON messages USING gin (words);
"""


async def indexes(database: Database) -> dict[str, str]:
    rows = await database.pool.fetch("SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'messages'")
    return {row["indexname"]: row["indexdef"] for row in rows}


async def test_missing_indexes_are_built_as_a_new_database_has_them(
    database: Database, superuser: Callable[[str], Awaitable[object]]
) -> None:
    """Also one whose build was interrupted. The index that they replace is removed; search finds before and after."""
    fresh = await indexes(database)
    await database.pool.execute(_OF_AN_EARLIER_RELEASE)
    async with database.transaction() as connection:
        await messages.store(connection, await channel(connection), [Message(MessageId(1), NOON, "Ada", "tide")])
    await superuser("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'messages_sampled'::regclass")
    assert await found(database) == [1]
    async with database.connection() as connection:
        assert await search_indexes.missing(connection) == ["messages_sampled", "messages_found"]
    assert await build_missing(database, SystemClock())
    assert await indexes(database) == fresh
    assert await found(database) == [1]


async def test_one_process_builds(database: Database) -> None:
    """Another one leaves it to the first, and tries again later."""
    await database.pool.execute(_OF_AN_EARLIER_RELEASE)
    other = await database.direct("other")
    try:
        assert await search_indexes.try_alone(other)
        assert not await build_missing(database, SystemClock())
    finally:
        other.terminate()


async def found(database: Database) -> list[int]:
    async with database.connection() as connection:
        results = await search(connection, read_query("tide", lambda moment: moment), most=5)
        return [one.id for one in results.found]
