"""Who may see the pages: links that open once, sessions that end, and a bound on guessing."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from tidegate.access.queries import operator_password, page_sessions, password_tries, sign_in_links, sign_in_retention
from tidegate.access.queries.page_sessions import SessionSpan
from tidegate.database.pool import Database

pytestmark = pytest.mark.both_servers

DAY = timedelta(days=1)
SPAN = SessionSpan(DAY, 90 * DAY)


async def pass_time(database: Database, span: timedelta) -> None:
    """Let everything kept be *span* older."""
    kept = ("sign_in_links.until", "sessions.until", "sessions.began_at", "sign_in_tries.at")
    for column in (*kept, "sign_in_clients.signed_at"):
        table, name = column.split(".")
        await database.pool.execute(f"UPDATE {table} SET {name} = {name} - $1::interval", span)


class TestLinks:
    async def test_a_link_opens_once(self, database: Database) -> None:
        """Looking does not use it up, using does; and of many at once one gets in."""
        async with database.transaction() as connection:
            secret = await sign_in_links.make_link(connection)
            assert await sign_in_links.link_is_good(connection, secret)
            assert not await sign_in_links.use_link(connection, "another")

        async def use() -> bool:
            async with database.transaction() as connection:
                return await sign_in_links.use_link(connection, secret)

        assert sorted(await asyncio.gather(*(use() for _ in range(5)))) == [False] * 4 + [True]
        async with database.connection() as connection:
            assert not await sign_in_links.link_is_good(connection, secret)

    async def test_a_new_link_ends_the_old_one_and_a_day_ends_both(self, database: Database) -> None:
        """What was printed long ago, or before, opens nothing."""
        async with database.transaction() as connection:
            old, new = await sign_in_links.make_link(connection), await sign_in_links.make_link(connection)
            assert not await sign_in_links.use_link(connection, old)
            assert await sign_in_links.link_is_good(connection, new)
        await pass_time(database, DAY)
        async with database.connection() as connection:
            assert not await sign_in_links.use_link(connection, new)

    async def test_no_secret_is_kept_as_it_is(self, database: Database) -> None:
        """Whoever reads the database or a backup cannot sign in with it."""
        async with database.transaction() as connection:
            link = await sign_in_links.make_link(connection)
            session = await page_sessions.begin_session(connection, "127.0.0.1", SPAN)
        kept = await database.pool.fetchval(
            "SELECT string_agg(t::text, ' ') FROM (SELECT l::text FROM sign_in_links l UNION ALL "
            "SELECT s::text FROM sessions s UNION ALL SELECT e::text FROM events e) AS t"
        )
        for secret in (link, session):
            assert secret not in kept
            assert secret.encode().hex() not in kept


class TestTries:
    async def test_guessing_is_bounded_also_by_many_at_once(self, database: Database) -> None:
        """Twenty tries at the same moment are five, and the others are told how long to wait."""

        async def attempt() -> timedelta | None:
            async with database.transaction() as connection:
                return await password_tries.charge_try(connection, "10.0.0.1")

        waits = await asyncio.gather(*(attempt() for _ in range(20)))
        assert waits.count(None) == password_tries.TRIES_OF_ONE
        assert all(timedelta() < wait <= password_tries.TRIES_IN for wait in waits if wait is not None)

    async def test_another_address_may_still_try_until_all_together_tried_too_often(self, database: Database) -> None:
        """One guesser does not shut everybody out; very many of them do, for ten minutes."""
        async with database.transaction() as connection:
            for number in range(password_tries.TRIES_OF_ALL):
                assert await password_tries.charge_try(connection, f"10.0.1.{number}") is None
            assert await password_tries.charge_try(connection, "10.0.0.9") is not None
        await pass_time(database, password_tries.TRIES_IN)
        async with database.transaction() as connection:
            assert await password_tries.charge_try(connection, "10.0.0.9") is None

    async def test_who_knew_the_password_begins_anew(self, database: Database) -> None:
        """Typing errors before a right password do not add up over the day."""
        async with database.transaction() as connection:
            for _ in range(password_tries.TRIES_OF_ONE):
                await password_tries.charge_try(connection, "here")
            await password_tries.forgive(connection, "here")
            assert await password_tries.charge_try(connection, "here") is None


class TestSessions:
    async def test_a_session_lasts_while_it_is_used(self, database: Database) -> None:
        """Each use moves its end on; unused for as long as it lasts, it is over."""
        async with database.transaction() as connection:
            secret = await page_sessions.begin_session(connection, "127.0.0.1", SPAN)
        for _ in range(3):
            await pass_time(database, DAY * 0.9)
            async with database.transaction() as connection:
                assert await page_sessions.find_session(connection, secret, SPAN)
        await pass_time(database, DAY)
        async with database.transaction() as connection:
            assert await page_sessions.find_session(connection, secret, SPAN) is None
            assert await page_sessions.find_session(connection, "", SPAN) is None

    async def test_a_new_password_ends_every_session(self, database: Database) -> None:
        """A stolen cookie is worth nothing once the password was changed."""
        async with database.transaction() as connection:
            secret = await page_sessions.begin_session(connection, "127.0.0.1", SPAN)
            await operator_password.set_password(connection, "first")
            await operator_password.set_password(connection, "second")
            assert await page_sessions.find_session(connection, secret, SPAN) is None
            assert await operator_password.password_hash(connection) == "second"

    async def test_old_sessions_and_tries_are_removed(self, database: Database) -> None:
        """everything-kept-ends: what has ended goes, what has not stays."""
        async with database.transaction() as connection:
            await page_sessions.begin_session(connection, "old", SPAN)
            await password_tries.charge_try(connection, "old")
        await pass_time(database, DAY)
        async with database.transaction() as connection:
            await page_sessions.begin_session(connection, "new", SPAN)
            await password_tries.charge_try(connection, "new")
            now = await connection.fetchval("SELECT clock_now()")
            assert await sign_in_retention.prune_sessions(connection, now, limit=10) == 1
            assert await sign_in_retention.prune_tries(connection, now - password_tries.TRIES_IN, limit=10) == 1
        assert await database.pool.fetchval("SELECT count(*) FROM sessions") == 1
        assert await database.pool.fetchval("SELECT array_agg(client) FROM sign_in_tries") == ["new"]
