"""Whose word about a client is taken, what follows from https, and cookies that no other port can set."""

from __future__ import annotations

import httpx
import pytest

from tests.web.visiting import loaded, visiting
from tidegate.access.queries import password_tries, sign_in_links
from tidegate.core.errors import BadInput
from tidegate.database.pool import Database

Headers = dict[str, str] | list[tuple[str, str]]


async def client_told(client: httpx.AsyncClient, database: Database, headers: Headers) -> str:
    """From where somebody signed in, as the feed tells it."""
    await begin(client, database, headers)
    told: dict[str, str] = await database.pool.fetchval(
        "SELECT data FROM events WHERE kind = 'sign_in.begun' ORDER BY id DESC LIMIT 1"
    )
    return told["client"]


async def begin(client: httpx.AsyncClient, database: Database, headers: Headers | None = None) -> httpx.Response:
    client.cookies.clear()
    async with database.transaction() as connection:
        link = await sign_in_links.make_link(connection)
    answer = await client.post("/sign-in/once", data={"once": link}, headers=headers or {})
    assert answer.status_code == 303
    return answer


class TestTheClient:
    async def test_a_stranger_on_this_machine_is_not_believed(self, database: Database) -> None:
        """Any user of the machine could else be somebody else in the feed, and try passwords without an end."""
        async with visiting(database) as client:
            for name in ("x-forwarded-for", "forwarded", "x-real-ip"):
                said = "for=192.0.2.1" if name == "forwarded" else "192.0.2.1"
                assert await client_told(client, database, {name: said}) == "127.0.0.1"

    @pytest.mark.parametrize(
        ("headers", "client"),
        [
            ({"x-forwarded-for": "192.0.2.1"}, "192.0.2.1"),
            ({"x-forwarded-for": "198.51.100.7, 192.0.2.1"}, "192.0.2.1"),
            ([("x-forwarded-for", "198.51.100.7"), ("x-forwarded-for", "192.0.2.1")], "192.0.2.1"),
            ({"x-forwarded-for": "192.0.2.1, 10.1.2.3"}, "192.0.2.1"),
            ({"x-forwarded-for": "10.9.9.9, 198.51.100.7, 10.1.2.3"}, "198.51.100.7"),
            ({"x-forwarded-for": "[2001:db8::1]:4711"}, "2001:db8::1"),
            ({"x-forwarded-for": "192.0.2.1, somebody"}, "127.0.0.1"),
            ({"x-forwarded-for": "192.0.2.1", "forwarded": "for=203.0.113.9"}, "192.0.2.1"),
            ({"forwarded": "for=203.0.113.9"}, "127.0.0.1"),
            ({}, "127.0.0.1"),
        ],
    )
    async def test_of_a_proxys_word_only_the_end_is_believed(
        self, database: Database, headers: Headers, client: str
    ) -> None:
        """The last that is no proxy of ours is the client; before it stands what the client wrote itself."""
        async with visiting(database, TIDEGATE_WEB_PROXIES="127.0.0.1, 10.0.0.0/8") as opened:
            assert await client_told(opened, database, headers) == client

    async def test_made_up_addresses_do_not_add_tries(self, database: Database) -> None:
        """Behind a proxy that adds the real one, as each proxy does, a new made-up address is the same client."""
        async with visiting(database, TIDEGATE_WEB_PROXIES="127.0.0.1") as client:
            for number in range(password_tries.TRIES_OF_ONE):
                made_up = {"x-forwarded-for": f"203.0.113.{number}, 192.0.2.1"}
                assert (await client.post("/sign-in", data={"password": "wrong"}, headers=made_up)).status_code == 403
            made_up = {"x-forwarded-for": "203.0.113.99, 192.0.2.1"}
            assert (await client.post("/sign-in", data={"password": "wrong"}, headers=made_up)).status_code == 429

    @pytest.mark.parametrize("written", ["everybody", "*", "0.0.0.0/0", "::/0", "10.0.0.1/8", "10.0.0.0/8;127.0.0.1"])
    def test_what_is_no_proxy_is_refused_at_the_start(self, written: str) -> None:
        """Also a network of everybody: whoever asks could then say who asks."""
        with pytest.raises(BadInput, match="must be addresses or networks"):
            loaded(TIDEGATE_WEB_PROXIES=written)


class TestCookies:
    @pytest.mark.parametrize(
        ("variables", "headers", "name"),
        [
            ({}, {}, "tidegate_session"),
            ({}, {"x-forwarded-proto": "https"}, "tidegate_session"),
            ({"TIDEGATE_WEB_PROXIES": "127.0.0.1"}, {"x-forwarded-proto": "https"}, "__Host-tidegate_session"),
            ({"TIDEGATE_WEB_PROXIES": "127.0.0.1"}, {"x-forwarded-proto": "http"}, "tidegate_session"),
            ({"TIDEGATE_WEB_URL": "https://gate.example"}, {}, "__Host-tidegate_session"),
            ({"TIDEGATE_WEB_URL": "https://gate.example/t"}, {}, "__Secure-tidegate_session"),
            ({"TIDEGATE_WEB_URL": "http://gate.example/t"}, {}, "tidegate_session"),
        ],
    )
    async def test_over_https_no_other_port_can_set_it(
        self, database: Database, variables: dict[str, str], headers: dict[str, str], name: str
    ) -> None:
        """Browsers keep such names to https and their host; with a path only to https. Over http there is no such."""
        async with visiting(database, **variables) as client:
            cookie = (await begin(client, database, headers)).headers["set-cookie"]
        attributes = {one.strip().lower() for one in cookie.split(";")[1:]}
        assert cookie.partition("=")[0] == name
        assert ("secure" in attributes) == name.startswith("__")
        assert not any(one.startswith("domain") for one in attributes)
        if name.startswith("__Host-"):
            assert "path=/" in attributes

    async def test_a_plain_cookie_is_not_taken_over_https(self, database: Database) -> None:
        """Another program of the host could have set it, to have the operator work in a session of its own."""
        async with visiting(database, TIDEGATE_WEB_URL="https://gate.example") as client:
            cookie = (await begin(client, database)).headers["set-cookie"].partition(";")[0]
            secret = cookie.partition("=")[2]
            assert (await client.get("/settings", headers={"cookie": cookie})).status_code == 200
            plain = {"cookie": f"tidegate_session={secret}"}
            assert (await client.get("/settings", headers=plain)).status_code == 303

    async def test_signing_out_removes_the_cookie_itself(self, database: Database) -> None:
        """With the attributes it was set with: browsers ignore a removal of such a name without them."""
        async with visiting(database, TIDEGATE_WEB_URL="https://gate.example") as client:
            cookie = {"cookie": (await begin(client, database)).headers["set-cookie"].partition(";")[0]}
            page = (await client.get("/settings", headers=cookie)).text
            token = page.partition('name="change_token" value="')[2][:64]
            gone = (await client.post("/sign-out", headers=cookie, data={"change_token": token})).headers["set-cookie"]
        assert gone.startswith('__Host-tidegate_session=""')
        assert {"secure", "path=/", "max-age=0"} <= {one.strip().lower() for one in gone.split(";")}


class TestHttpsAlone:
    @pytest.mark.parametrize(
        ("url", "said"),
        [
            (None, None),
            ("http://gate.example", None),
            ("https://gate.example", "max-age=31536000"),
            ("https://gate.example/t", "max-age=31536000"),
            ("https://gate.example:443", "max-age=31536000"),
            ("https://gate.example:8443", None),
        ],
    )
    async def test_browsers_are_told_where_the_address_is_https(
        self, database: Database, url: str | None, said: str | None
    ) -> None:
        """And nothing of other hosts below it; not for a host with a port, whose other ports may speak plain http."""
        async with visiting(database, **({"TIDEGATE_WEB_URL": url} if url else {})) as client:
            for path in ("/sign-in", "/health", "/api/accounts", "/nowhere"):
                answer = await client.get(path, headers={"x-forwarded-proto": "https"})
                assert answer.headers.get("strict-transport-security") == said
