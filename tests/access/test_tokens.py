"""API tokens in the store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.held import NOON, holding
from tidegate.access.queries import tokens
from tidegate.access.queries.tokens import TokenScope, TokenState
from tidegate.app.operator_requests import token_end
from tidegate.core.errors import BadInput, NothingToDo
from tidegate.database.pool import Database

pytestmark = pytest.mark.both_servers


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


async def test_a_token_that_expires_opens_nothing_afterwards(database: Database) -> None:
    """To the second, and it stays on the list for a while so that people see why; then its name is free again."""
    async with holding(database) as clock:
        async with database.transaction() as connection:
            end = clock.now() + timedelta(days=1)
            secret = await tokens.add(connection, "bot", [TokenScope.READ], None, expires_at=end)
        states = []
        for _ in range(2):
            async with database.connection() as connection:
                found = await tokens.find(connection, secret)
                assert found is not None
                states.append(found.state)
            await clock.advance(timedelta(days=1))
        assert states == [TokenState.ACTIVE, TokenState.EXPIRED]
        async with database.transaction() as connection:
            assert await tokens.prune_expired(connection, end, limit=10) == 0
            assert await tokens.prune_expired(connection, end + timedelta(seconds=1), limit=10) == 1
            assert await tokens.listing(connection) == []


async def test_a_token_that_would_have_expired_is_not_made(database: Database) -> None:
    """A date in the past is a slip, and the sentence repeats it."""
    async with holding(database) as clock, database.transaction() as connection:
        with pytest.raises(BadInput, match="would have expired already, at 2026-03-01T12:00:00"):
            await tokens.add(connection, "bot", [TokenScope.READ], None, expires_at=clock.now())


@pytest.mark.parametrize(
    ("written", "end"),
    [
        ("30d", NOON + timedelta(days=30)),
        ("1h30m", NOON + timedelta(minutes=90)),
        ("P2W", NOON + timedelta(days=14)),
        ("2026-04-01", datetime(2026, 4, 1, tzinfo=UTC)),
        ("2027", datetime(2027, 1, 1, tzinfo=UTC)),
        ("2026-04-01T08:00Z", datetime(2026, 4, 1, 8, tzinfo=UTC)),
        ("2026-04-01T10:00:00+02:00", datetime(2026, 4, 1, 8, tzinfo=UTC)),
        (None, None),
    ],
)
async def test_an_end_is_a_span_or_a_date(database: Database, written: str | None, end: datetime | None) -> None:
    """From now on, or when that day begins where the person is."""
    async with holding(database, NOON), database.connection() as connection:
        assert await token_end(connection, written, lambda moment: moment.replace(tzinfo=UTC)) == end


@pytest.mark.parametrize("written", ["soon", "30", "1.5", "-5", "", "99999999999d", "2026-13-01", "-", "30 d"])
async def test_what_is_neither_is_refused(database: Database, written: str) -> None:
    """A bare number too: nobody can tell days from seconds."""
    async with database.connection() as connection:
        with pytest.raises(BadInput, match="A token cannot expire"):
            await token_end(connection, written, lambda moment: moment.replace(tzinfo=UTC))


async def test_tokens_of_a_copy_are_confirmed_one_by_one_or_together(database: Database) -> None:
    """Each with its event; one that needs none is nothing to do, and one that is not there is named."""
    secret = await add(database, "a")
    for name in ("b", "c"):
        await add(database, name)
    async with database.transaction() as connection:
        assert await tokens.unconfirm_all(connection) == ["a", "b", "c"]
        assert await tokens.confirm(connection, "a") == ["a"]
        found = await tokens.find(connection, secret)
        assert found is not None
        assert found.state is TokenState.ACTIVE
        with pytest.raises(NothingToDo, match='Token "a" is confirmed already'):
            await tokens.confirm(connection, "a")
        with pytest.raises(BadInput, match='There is no token "nobody"'):
            await tokens.confirm(connection, "nobody")
        assert await tokens.confirm(connection, None) == ["b", "c"]
        with pytest.raises(NothingToDo, match="No token needs confirmation"):
            await tokens.confirm(connection, None)
    told = await database.pool.fetch("SELECT subject FROM events WHERE kind = 'token.confirmed' ORDER BY id")
    assert [row["subject"] for row in told] == ["a", "b", "c"]
