"""API tokens in the store."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.held import holding
from tidegate.errors import BadInput
from tidegate.store import tokens
from tidegate.store.database import Database
from tidegate.store.tokens import TokenScope


async def add(database: Database, name: str = "bot") -> str:
    async with database.transaction() as connection:
        return await tokens.add(connection, name, [TokenScope.READ], None)


async def test_a_token_is_known_by_its_hash_alone(database: Database) -> None:
    """Whoever reads the database, its backup or its events finds nothing that opens a door."""
    secret = await add(database)
    async with database.connection() as connection:
        found = await tokens.find(connection, secret)
        assert found is not None
        assert (found.name, found.scopes, found.channels) == ("bot", {"read"}, None)
        assert await tokens.find(connection, secret + "x") is None
        stored = [
            await connection.fetchval(f"SELECT string_agg(t::text, '') FROM {table} t")
            for table in ("tokens", "events")
        ]
    assert all(secret.removeprefix("tidegate_") not in text for text in stored)


async def test_two_tokens_are_never_the_same(database: Database) -> None:
    """Each is random, and a name is given once."""
    assert await add(database, "a") != await add(database, "b")
    with pytest.raises(BadInput, match='There is a token "a" already'):
        await add(database, "a")
    with pytest.raises(BadInput, match="needs a name"):
        await add(database, " ")


async def test_a_revoked_token_opens_nothing(database: Database) -> None:
    """At once, and its name is free again; both are told in the feed."""
    secret = await add(database)
    async with database.transaction() as connection:
        await tokens.revoke(connection, "bot")
        assert await tokens.find(connection, secret) is None
        with pytest.raises(BadInput, match="There is no token"):
            await tokens.revoke(connection, "bot")
    await add(database)
    kinds = await database.pool.fetch("SELECT kind FROM events ORDER BY tx, id")
    assert [row["kind"] for row in kinds] == ["token.added", "token.revoked", "token.added"]


async def test_that_it_is_used_is_noted_now_and_then(database: Database) -> None:
    """Once a minute at most, so that a busy bot does not write with every read."""
    secret = await add(database)
    async with holding(database) as clock:
        noted = []
        for seconds in (0, 59, 2):
            await clock.advance(timedelta(seconds=seconds))
            async with database.connection() as connection:
                await tokens.find(connection, secret)
                noted.append((await tokens.listing(connection))[0].used_at)
    assert noted[0] is not None
    assert noted[0] == noted[1] != noted[2]
