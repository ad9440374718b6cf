"""Signing in over real HTTP: links, the password, cookies, and changes that another site asks for."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.cli.program import tidegate
from tests.servers import make_home
from tests.web.operator_password import PASSWORD, set_password
from tests.web.visiting import change_token, htmx, loaded, sign_in, visiting
from tidegate.access.queries import password_tries, sign_in_links
from tidegate.database.pool import Database
from tidegate.web.page_response import local_path
from tidegate.web.server.request_checks import LONGEST_BODY
from tidegate.web.site_address import COOKIE


@pytest.fixture
async def client(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    async with visiting(database) as opened:
        yield opened


class TestWithoutASession:
    @pytest.mark.parametrize("path", ["/", "/settings", "/events", "/overview/feed"])
    async def test_nothing_is_shown(self, client: httpx.AsyncClient, path: str) -> None:
        """Every page leads to the sign-in, and back afterwards."""
        answer = await client.get(path)
        wanted = "/sign-in" if path == "/" else f"/sign-in?next={path}"
        assert (answer.status_code, answer.headers["location"]) == (303, wanted)
        client.cookies[COOKIE] = "made up"
        assert (await client.get(path)).status_code == 303

    async def test_htmx_is_sent_there_as_a_whole_page(self, client: httpx.AsyncClient) -> None:
        """A session that ended under an open page does not put the sign-in inside it."""
        answer = await client.get("/overview/feed", headers={"hx-request": "true"})
        assert (answer.status_code, answer.headers["hx-redirect"]) == (204, "/sign-in")

    async def test_without_a_password_the_page_says_how_to_get_in(self, client: httpx.AsyncClient) -> None:
        """No form that cannot succeed; the command that makes a link instead."""
        answer = await client.get("/sign-in")
        assert "tidegate web --sign-in-link" in answer.text
        assert 'name="password"' not in answer.text
        assert (await client.post("/sign-in", data={"password": "x"})).status_code == 403


class TestLinks:
    async def test_a_link_signs_in_once_and_sets_the_password(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """Opening it changes nothing, so that a preview of the link costs nobody the sign-in."""
        async with database.transaction() as connection:
            secret = await sign_in_links.make_link(connection)
        for _ in range(2):
            assert "Choose a password" in (await client.get("/sign-in", params={"once": secret})).text
        short = await client.post("/sign-in/once", data={"once": secret, "password": "short"})
        assert (short.status_code, "must have 10 to 1,000 characters" in short.text) == (400, True)
        answer = await client.post("/sign-in/once", data={"once": secret, "password": PASSWORD})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert (await client.get("/")).status_code == 200
        client.cookies.clear()
        again = await client.post("/sign-in/once", data={"once": secret, "password": PASSWORD})
        assert (again.status_code, "was used already" in again.text) == (403, True)
        assert "was used already" in (await client.get("/sign-in", params={"once": secret})).text
        assert (await client.post("/sign-in", data={"password": PASSWORD})).status_code == 303

    def test_the_command_prints_one(self, test_folder: Path) -> None:
        """Whoever is locked out makes a link on the machine, with the address that people use."""
        home = make_home(test_folder / "link")
        made = tidegate("web", "--sign-in-link", home=home, TIDEGATE_WEB_URL="https://example.org/gate/")
        assert made.returncode == 0
        assert re.fullmatch(r"https://example.org/gate/sign-in\?once=[\w-]{43}\n", made.stdout)
        assert made.stderr == "It signs you in once, within a day, and lets you choose a new password.\n"


class TestPassword:
    async def test_a_right_password_signs_in_and_leads_back(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """The cookie is not for scripts, not for other sites, and over https for nothing else."""
        await set_password(database)
        answer = await client.post("/sign-in", data={"password": PASSWORD, "next": "/settings"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/settings")
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert "secure" not in cookie
        async with visiting(database, TIDEGATE_WEB_URL="https://example.org") as behind:
            cookie = (await behind.post("/sign-in", data={"password": PASSWORD})).headers["set-cookie"].lower()
            assert "; secure" in cookie

    async def test_guessing_ends_soon_also_over_a_restart(self, client: httpx.AsyncClient, database: Database) -> None:
        """Five wrong ones, then nobody looks at the password any more; another process knows it, too."""
        await set_password(database)
        for _ in range(password_tries.TRIES_OF_ONE):
            answer = await client.post("/sign-in", data={"password": "wrong"})
            assert (answer.status_code, "Wrong password" in answer.text) == (403, True)
        async with visiting(database) as other:
            answer = await other.post("/sign-in", data={"password": PASSWORD})
        assert (answer.status_code, "Too many wrong passwords" in answer.text) == (429, True)
        assert 0 < int(answer.headers["retry-after"]) <= 600

    async def test_a_new_password_signs_everybody_out(self, client: httpx.AsyncClient, database: Database) -> None:
        """This browser, too."""
        token = await sign_in(client, database)
        refused = await client.post("/settings/password", data={"password": "short"}, headers=htmx(token))
        assert (refused.status_code, "10 to 1,000" in refused.json()["detail"]) == (400, True)
        answer = await client.post("/settings/password", data={"password": PASSWORD}, headers=htmx(token))
        assert answer.headers["hx-redirect"] == "/sign-in"
        assert (await client.get("/")).status_code == 303

    async def test_signing_out_ends_the_session(self, client: httpx.AsyncClient, database: Database) -> None:
        """The cookie is worth nothing afterwards, wherever it was copied to."""
        token = await sign_in(client, database)
        kept = client.cookies[COOKIE]
        assert (await client.post("/sign-out", data={"change_token": token})).status_code == 303
        client.cookies[COOKIE] = kept
        assert (await client.get("/")).status_code == 303


class TestChanges:
    @pytest.mark.parametrize(
        ("headers", "data"),
        [
            ({}, {}),
            ({}, {"change_token": "0" * 64}),
            ({"hx-request": "true"}, {}),
            ({"x-change-token": "0" * 64}, {}),
        ],
    )
    async def test_without_the_pages_own_token_nothing_changes(
        self, client: httpx.AsyncClient, database: Database, headers: dict[str, str], data: dict[str, str]
    ) -> None:
        """A form of another site has the cookie and not the token."""
        await sign_in(client, database)
        answer = await client.post("/settings/tokens", headers=headers, data={"name": "x", "scope": "read", **data})
        assert answer.status_code == 403
        assert await database.pool.fetchval("SELECT count(*) FROM tokens") == 0

    @pytest.mark.parametrize(
        "headers", [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}]
    )
    async def test_another_sites_request_is_refused_with_token_and_all(
        self, client: httpx.AsyncClient, database: Database, headers: dict[str, str]
    ) -> None:
        """The browser says who asks; signing in is refused the same way."""
        token = await sign_in(client, database)
        made = {"name": "x", "scope": "read", "change_token": token}
        assert (await client.post("/settings/tokens", headers=headers, data=made)).status_code == 403
        assert (await client.post("/sign-in", headers=headers, data={"password": "x"})).status_code == 403
        own = {"origin": str(client.base_url).rstrip("/")}
        assert (await client.post("/settings/tokens", headers=own, data=made)).status_code == 200

    async def test_a_body_without_end_is_not_listened_to(self, client: httpx.AsyncClient) -> None:
        """Announced or not: nobody fills the memory before signing in."""
        answer = await client.post("/sign-in", content=b"password=" + b"x" * LONGEST_BODY)
        assert (answer.status_code, answer.headers["content-type"]) == (413, "text/html; charset=utf-8")
        assert "A request may have 1,048,576 bytes; this one is longer." in answer.text

        async def endless() -> AsyncIterator[bytes]:
            for _ in range(40):
                yield b"x" * (LONGEST_BODY // 20)

        answer = await client.post(
            "/sign-in", content=endless(), headers={"content-type": "application/x-www-form-urlencoded"}
        )
        assert (answer.status_code, "this one is longer" in answer.text) == (413, True)

    @pytest.mark.parametrize(
        "wanted",
        ["https://evil.example", "//evil.example", "/\\evil.example", "evil", "", "/a\nb", "javascript:alert(1)"],
    )
    def test_a_link_leads_nowhere_else(self, wanted: str) -> None:
        """``next`` is a path of ours or ignored."""
        assert local_path(wanted) == "/"
        assert local_path("/channels?q=a") == "/channels?q=a"


class TestProxy:
    @pytest.mark.parametrize("passed_on", ["/gate", ""])
    async def test_behind_a_prefix_every_address_has_it(self, database: Database, passed_on: str) -> None:
        """Whether the proxy takes the prefix away or passes it on; cookies and redirects keep to it."""
        async with visiting(database, TIDEGATE_WEB_URL="http://127.0.0.1/gate/") as client:
            answer = await client.get(f"{passed_on}/settings")
            assert answer.headers["location"] == "/gate/sign-in?next=/settings"
            async with database.transaction() as connection:
                secret = await sign_in_links.make_link(connection)
            answer = await client.post(f"{passed_on}/sign-in/once", data={"once": secret})
            assert answer.headers["location"] == "/gate/"
            assert "path=/gate/" in answer.headers["set-cookie"].lower()
            cookie = {"cookie": answer.headers["set-cookie"].partition(";")[0]}
            text = (await client.get(f"{passed_on}/settings", headers=cookie)).text
            assert change_token(text)
            inside = re.findall(r'(?:href|src|action|hx-get|hx-post)="(/[^"]*)"', text)
            assert inside
            assert [address for address in inside if not address.startswith("/gate/")] == []
            for address in {address for address in inside if "/static/" in address}:
                assert (await client.get(address.replace("/gate", passed_on))).status_code == 200

    def test_the_address_must_be_one(self) -> None:
        """A setting that cannot be is refused before anything starts."""
        with pytest.raises(Exception, match="it must be an address such as"):
            loaded(TIDEGATE_WEB_URL="gate")
