"""How long a browser stays signed in, how everybody is signed out at once, and whom wrong passwords keep waiting."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest

from tests.held import holding
from tests.web.event_listener import listening, looked_after_often
from tests.web.visiting import htmx, sign_in, visiting
from tidegate.access.queries import operator_password, password_tries, sign_in_links
from tidegate.database.pool import Database
from tidegate.web.auth.operator_sign_in import hash_password

__all__ = ["looked_after_often"]  # a fixture

PASSWORD = "correct horse battery"
NEW = "another horse battery"
DAY = timedelta(days=1)


@pytest.fixture
async def client(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    async with visiting(database) as opened:
        yield opened


async def set_password(database: Database) -> None:
    async with database.transaction() as connection:
        await operator_password.set_password(connection, await hash_password(PASSWORD))


async def guess(client: httpx.AsyncClient, times: int, **headers: str) -> list[int]:
    """Wrong passwords; what each was answered with."""
    return [
        (await client.post("/sign-in", data={"password": "wrong"}, headers=headers)).status_code for _ in range(times)
    ]


class TestTheEnd:
    async def test_a_session_ends_however_much_it_is_used(self, database: Database) -> None:
        """A stolen cookie is not good for ever: `web_session_at_most` after the sign-in it is over."""
        async with visiting(database, TIDEGATE_WEB_SESSION_AT_MOST="3d") as client, holding(database) as clock:
            await sign_in(client, database)
            for _ in range(5):
                await clock.advance(0.5 * DAY)
                assert (await client.get("/settings")).status_code == 200
            await clock.advance(0.5 * DAY)
            assert (await client.get("/settings")).status_code == 303

    async def test_an_end_that_is_brought_forward_ends_older_sessions_too(self, database: Database) -> None:
        """The operator sets it and starts anew; who signed in before that is no exception."""
        async with holding(database) as clock:
            async with visiting(database) as client:
                await sign_in(client, database)
                await clock.advance(2 * DAY)
                assert (await client.get("/settings")).status_code == 200
                cookies = dict(client.cookies)
            async with visiting(database, TIDEGATE_WEB_SESSION_AT_MOST="1d") as client:
                client.cookies.update(cookies)
                assert (await client.get("/settings")).status_code == 303


class TestEverywhere:
    @pytest.mark.usefixtures("looked_after_often")
    async def test_one_button_signs_every_browser_out(self, client: httpx.AsyncClient, database: Database) -> None:
        """Others, this one, their live streams, and a link that nobody has used yet."""
        token = await sign_in(client, database)
        async with visiting(database) as other:
            await sign_in(other, database)
            async with database.transaction() as connection:
                link = await sign_in_links.make_link(connection)
            async with listening(other) as stream:
                answer = await client.post("/settings/sign-out-everywhere", headers=htmx(token))
                assert answer.headers["hx-redirect"] == "/sign-in"
                async for _ in stream:
                    pass  # until it ends
            for browser in (client, other):
                assert (await browser.get("/settings")).status_code == 303
            assert (await other.post("/sign-in/once", data={"once": link})).status_code == 403
        assert await database.pool.fetchval("SELECT count(*) FROM events WHERE kind = 'sign_in.ended_everywhere'") == 1

    async def test_a_new_password_voids_a_link_that_was_made_before(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """Who got hold of one could choose another password with it."""
        token = await sign_in(client, database)
        async with database.transaction() as connection:
            link = await sign_in_links.make_link(connection)
        await client.post("/settings/password", data={"password": PASSWORD}, headers=htmx(token))
        assert (await client.post("/sign-in/once", data={"once": link})).status_code == 403


class TestGuessing:
    async def test_it_never_hits_a_browser_that_is_signed_in(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """From the same address, as behind a proxy: pages, the sign-in and a new password go on working."""
        await set_password(database)
        token = await sign_in(client, database)
        async with visiting(database) as attacker:
            assert (await guess(attacker, password_tries.TRIES_OF_ONE + 1))[-1] == 429
        assert (await client.get("/settings")).status_code == 200
        assert (await client.post("/sign-in", data={"password": PASSWORD})).status_code == 303
        token = re.findall(r'name="change_token" value="([0-9a-f]+)"', (await client.get("/settings")).text)[0]
        changed = await client.post(
            "/settings/password", data={"current": PASSWORD, "password": NEW}, headers=htmx(token)
        )
        assert (changed.status_code, changed.headers["hx-redirect"]) == (204, "/sign-in")

    async def test_a_browser_that_is_signed_in_cannot_guess_either(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """Whoever finds one open has five tries for a new password; they make nobody else wait."""
        await set_password(database)
        token = await sign_in(client, database)
        tried = [
            await client.post("/settings/password", data={"current": "wrong", "password": NEW}, headers=htmx(token))
            for _ in range(password_tries.TRIES_OF_ONE + 1)
        ]
        assert [one.status_code for one in tried] == [403] * password_tries.TRIES_OF_ONE + [429]
        async with visiting(database) as other:
            assert (await other.post("/sign-in", data={"password": PASSWORD})).status_code == 303

    async def test_very_many_strangers_do_not_shut_the_operator_out(
        self, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The bound on all together holds for addresses from which nobody ever signed in; a link always works."""
        monkeypatch.setattr(
            password_tries, "TRIES_OF_ALL", password_tries.TRIES_OF_ONE + 3
        )  # each try costs a slow hash
        await set_password(database)
        known, strange = {"x-forwarded-for": "192.0.2.1"}, {"x-forwarded-for": "198.51.100.9"}
        async with visiting(database, TIDEGATE_WEB_PROXIES="127.0.0.1") as client:
            assert (await client.post("/sign-in", data={"password": PASSWORD}, headers=known)).status_code == 303
            client.cookies.clear()
            for number in range(password_tries.TRIES_OF_ALL):
                assert await guess(client, 1, **{"x-forwarded-for": f"203.0.113.{number}"}) == [403]
            assert (await client.post("/sign-in", data={"password": PASSWORD}, headers=strange)).status_code == 429
            assert (await client.post("/sign-in", data={"password": PASSWORD}, headers=known)).status_code == 303
            client.cookies.clear()
            async with database.transaction() as connection:
                link = await sign_in_links.make_link(connection)
            assert (await client.post("/sign-in/once", data={"once": link}, headers=strange)).status_code == 303

    async def test_a_line_with_many_addresses_is_one_client(self, database: Database) -> None:
        """Whoever has an IPv6 /64, as every home has, has no more tries than with one address."""
        await set_password(database)
        async with visiting(database, TIDEGATE_WEB_PROXIES="127.0.0.1") as client:
            for number in range(password_tries.TRIES_OF_ONE):
                assert await guess(client, 1, **{"x-forwarded-for": f"2001:db8:1:2:{number}::1"}) == [403]
            assert await guess(client, 1, **{"x-forwarded-for": "2001:db8:1:2:ffff::1"}) == [429]
            assert await guess(client, 1, **{"x-forwarded-for": "2001:db8:1:3::1"}) == [403]
