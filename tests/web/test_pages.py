"""Every page over real HTTP: headers, escaping, parts, tokens and files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator
from importlib.resources import files

import httpx
import pytest

from tests.waiting import until
from tests.web.hostile_words import HOSTILE
from tests.web.visiting import htmx, sign_in, visiting
from tidegate.access.queries import tokens
from tidegate.access.queries.tokens import TokenScope
from tidegate.accounts.queries import accounts
from tidegate.app import operator_requests
from tidegate.core.account import AccountState, Standing
from tidegate.core.errors import Halted
from tidegate.database.pool import Database
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.whatsapp import WHATSAPP
from tidegate.web.menu import NAVIGATION
from tidegate.web.static_files import all_assets

HTMX = "htmx-2.0.11.min.js"
HTMX_SHA256 = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
"""Of the file in npm's package htmx.org@2.0.11; its licence (0BSD) is stored beside it."""


@pytest.fixture
async def client(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in."""
    async with visiting(database) as opened:
        opened.headers["x-for-tests"] = await sign_in(opened, database)
        yield opened


class TestEveryPage:
    @pytest.mark.parametrize("path", [path for _, path in NAVIGATION])
    async def test_it_is_there_and_brings_nothing_from_elsewhere(self, client: httpx.AsyncClient, path: str) -> None:
        """No inline script or style, no address of another host, and headers that would stop both."""
        answer = await client.get(path)
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert re.findall(r"<script(?![^>]* src=)[^>]*>|<style|\sstyle=|\son[a-z]+=", answer.text) == []
        assert re.findall(r'(?:src|href|action)="(?:https?:)?//', answer.text) == []
        assert 'aria-current="page"' in answer.text

    async def test_a_page_that_does_not_exist_is_a_sentence(self, client: httpx.AsyncClient) -> None:
        """As a page for people, as a problem for programs."""
        answer = await client.get("/no/such/page")
        assert (answer.status_code, "There is nothing at /no/such/page." in answer.text) == (404, True)
        assert "<html" in answer.text
        answer = await client.get("/api/no", headers={"accept": "text/html"})
        assert answer.headers["content-type"] == "application/problem+json"

    async def test_a_hostile_name_is_shown_harmlessly(self, client: httpx.AsyncClient, database: Database) -> None:
        """Script tags, marks that turn the writing and 10,000 characters: escaped, kept apart, and cut."""
        await database.pool.execute("INSERT INTO accounts (name, platform) VALUES ($1, 'telegram')", HOSTILE)
        async with database.transaction() as connection:
            await tokens.add(connection, HOSTILE[:90], list(tokens.TokenScope), None)
        for path in ("/", "/accounts", "/settings"):
            text = (await client.get(path)).text
            assert "<script>" not in text
            assert "&lt;script&gt;alert" in text
            assert "ł" * 200 not in re.sub(r'type="hidden"[^>]*>', "", text)  # a form brings all of it back

    async def test_the_theme_is_kept(self, client: httpx.AsyncClient) -> None:
        """Chosen once, rendered by the server, so that no page flashes in the other colours."""
        token = client.headers["x-for-tests"]
        answer = await client.post("/theme", data={"theme": "dark", "next": "/settings", "change_token": token})
        assert answer.headers["location"] == "/settings"
        assert 'data-theme="dark"' in (await client.get("/")).text
        refused = await client.post("/theme", data={"theme": '"><script>', "change_token": token})
        assert refused.status_code == 400
        client.cookies["tidegate_theme"] = "x"
        assert 'data-theme="x"' not in (await client.get("/")).text


class TestParts:
    def test_no_part_drops_the_last_news(self) -> None:
        """htmx's throttle forgets what comes while it rests, a change by hand too; the page's script waits instead."""
        folder = files("tidegate.web").joinpath("templates")
        pages = [one for place in (folder, folder.joinpath("parts")) for one in place.iterdir() if one.is_file()]
        assert len(pages) > 10
        assert [one.name for one in pages if "throttle:" in one.read_text()] == []


class TestOverview:
    async def test_it_shows_lanes_what_needs_a_person_and_what_happened(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """Each part alone is what the whole page shows of it."""
        async with database.transaction() as connection:
            account = await accounts.add(connection, "shop", WHATSAPP, Standing.NEW, loopback="x")
            await accounts.change_state(connection, account, AccountState.SIGNED_OUT, expected=[AccountState.ACTIVE])
        parts = {
            "lanes": "signed out",
            "needs": "Sign in again",
            "feed": "Account signed out",
            "running": "Nothing in progress",
        }

        async def told() -> bool:
            return "Account signed out" in (await client.get("/")).text

        await until(told)
        page = (await client.get("/")).text
        for name, shown in parts.items():
            assert shown in page
            assert shown in (await client.get(f"/overview/{name}")).text


class TestAccounts:
    async def test_one_that_was_stopped_says_why(self, client: httpx.AsyncClient, database: Database) -> None:
        """Paused by a platform it needs a person, and the page says what the platform said; paused by a person not."""
        async with database.transaction() as connection:
            number = await accounts.add(connection, "shop", WHATSAPP, Standing.NEW, loopback="x")
            await accounts.note_stop(connection, number, Halted("The number is <restricted>."))
        assert "The number is &lt;restricted&gt;." in (await client.get("/accounts")).text
        assert "Fix it" in (await client.get("/overview/needs")).text
        async with database.transaction() as connection:
            await operator_requests.resume(connection, "shop")
            await operator_requests.pause(connection, "shop")
        assert "restricted" not in (await client.get("/accounts")).text
        assert "All good" in (await client.get("/overview/needs")).text

    async def test_only_one_that_is_signed_out_is_signed_in_again(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """The page offers it where it is wanted; asked for another account it is refused with a sentence."""
        token = client.headers["x-for-tests"]
        async with database.transaction() as connection:
            number = await accounts.add(connection, "bot", DISCORD, Standing.NEW, loopback="http://127.0.0.1:9")
        assert "Sign in again" not in (await client.get("/accounts")).text
        refused = await client.post("/accounts/sign-in", data={"name": "bot"}, headers=htmx(token))
        assert (refused.status_code, "not signed out" in refused.json()["detail"]) == (400, True)
        async with database.transaction() as connection:
            await accounts.change_state(connection, number, AccountState.SIGNED_OUT, expected=[AccountState.ACTIVE])
        assert "Sign in again" in (await client.get("/accounts")).text
        begun = await client.post("/accounts/sign-in", data={"name": "bot"}, headers=htmx(token))
        assert "Bot token" in (await client.get(begun.headers["hx-redirect"])).text

    async def test_a_code_to_type_is_for_whatsapp_and_its_numbers(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """A number for another platform is refused, and so is one that WhatsApp cannot take, before it is asked."""
        token = client.headers["x-for-tests"]
        wanted = {"name": "shop", "loopback": "http://127.0.0.1:9", "phone": " 0812 3456 ", "change_token": token}
        refused = await client.post("/accounts/add", data={**wanted, "platform": "telegram"})
        assert (refused.status_code, "type into a phone is WhatsApp" in refused.text) == (400, True)
        begun = await client.post("/accounts/add", data={**wanted, "platform": "whatsapp"}, headers=htmx(token))
        assert "with its country code" in (await client.get(begun.headers["hx-redirect"])).text

    async def test_a_name_that_is_taken_is_refused_before_any_question(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """Nobody types a code for nothing, and what was typed stays; no sign-in is under way to be answered."""
        token = client.headers["x-for-tests"]
        async with database.transaction() as connection:
            await accounts.add(connection, "shop", WHATSAPP, Standing.NEW, loopback="x")
        wanted = {"name": "shop", "platform": "telegram", "loopback": "http://127.0.0.1:9", "change_token": token}
        refused = await client.post("/accounts/add", data=wanted)
        assert (refused.status_code, "choose another name" in refused.text) == (400, True)
        assert 'value="shop" required maxlength="200" autocomplete="off" aria-invalid="true"' in refused.text
        assert 'value="http://127.0.0.1:9"' in refused.text
        gone = await client.post("/accounts/adding/x", data={"answer": "1", "change_token": token})
        assert (gone.status_code, "Begin again" in gone.text) == (404, True)


class TestSettings:
    async def test_values_have_their_source_and_secrets_are_hidden(self, database: Database) -> None:
        """What is in effect and why; of a secret only that it is set."""
        secret = "hunter2-hunter2"
        async with visiting(database, TIDEGATE_TELEGRAM_API_HASH=secret, TIDEGATE_TIME_OUT="20s") as client:
            await sign_in(client, database)
            text = (await client.get("/settings")).text
        assert secret not in text
        assert "(set, hidden)" in text
        assert re.search(r"<code>time_out</code></th>\s*<td[^>]*>20s</td>\s*<td[^>]*><strong>TIDEGATE_TIME_OUT", text)

    async def test_a_token_is_shown_once_and_can_be_revoked(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """The page after making it is the only place that has it; revoked, it opens nothing."""
        token = client.headers["x-for-tests"]
        made = await client.post("/settings/tokens", data={"name": "bot", "scope": "read", "change_token": token})
        [secret] = re.findall(r"tidegate_[\w-]{43}", made.text)
        assert secret not in (await client.get("/settings")).text
        async with database.connection() as connection:
            assert await tokens.find(connection, secret)
        gone = await client.post("/settings/tokens/revoke", data={"name": "bot"}, headers=htmx(token))
        assert (gone.status_code, "is revoked" in gone.headers["tidegate-said"]) == (204, True)
        assert "There is no token yet" in (await client.get("/settings/tokens", headers=htmx(token))).text
        none = await client.post("/settings/tokens", data={"name": "bot"}, headers=htmx(token))
        assert (none.status_code, none.json()["detail"]) == (
            400, "Choose at least one scope: a token without one opens nothing.",
        )  # fmt: skip
        again = await client.post("/settings/tokens", data={"name": "bot", "expires": "30d", "change_token": token})
        assert (again.status_code, "Choose at least one scope" in again.text) == (400, True)
        assert 'value="bot" required' in again.text, "what was typed is still in the form"
        assert '<option value="30d" selected>' in again.text

    async def test_a_token_may_expire(self, client: httpx.AsyncClient, database: Database) -> None:
        """As it was chosen; what cannot be is a sentence."""
        token = client.headers["x-for-tests"]
        wanted = {"name": "bot", "scope": "read", "change_token": token}
        made = await client.post("/settings/tokens", data={**wanted, "expires": "2099-12-31"})
        assert "It expires <time" in made.text
        listed = (await client.get("/settings/tokens")).text
        assert '<td data-label="Expires"><time datetime="2099-12-31T00:00:00+00:00">' in listed
        refused = await client.post("/settings/tokens", data={**wanted, "name": "b", "expires": "2001-01-01"})
        assert (refused.status_code, "would have expired already" in refused.text) == (400, True)

    async def test_tokens_of_a_backup_are_confirmed(self, client: httpx.AsyncClient, database: Database) -> None:
        """The first page says that they wait, and settings have a button for each and one for all."""
        token = client.headers["x-for-tests"]
        async with database.transaction() as connection:
            for name in ("a", "b", "c"):
                await tokens.add(connection, name, [TokenScope.READ], None)
            await tokens.unconfirm_all(connection)
        assert "3 tokens of a restored database must be confirmed" in (await client.get("/")).text
        text = (await client.get("/settings")).text
        assert (text.count("needs confirmation"), "Confirm all 3" in text) == (3, True)
        said = []
        for name in ({"name": "a"}, {}):
            answer = await client.post("/settings/tokens/confirm", data=name, headers=htmx(token))
            said.append(answer.headers["tidegate-said"])
        assert said == ['"Token \\"a\\" is confirmed."', '"2 tokens confirmed."']
        assert "needs confirmation" not in (await client.get("/settings")).text
        again = await client.post("/settings/tokens/confirm", headers=htmx(token))
        assert (again.status_code, again.json()["detail"]) == (409, "No token needs confirmation.")


class TestFiles:
    def test_htmx_is_the_file_that_was_published(self) -> None:
        """Vendored, not changed; its licence lies beside it."""
        assert hashlib.sha256(all_assets()[HTMX].content).hexdigest() == HTMX_SHA256
        assert "Zero-Clause BSD" in files("tidegate.web").joinpath("static", "htmx-LICENSE.txt").read_text()

    async def test_files_are_kept_for_good_and_nothing_else_is_sent(self, client: httpx.AsyncClient) -> None:
        """Their address changes with their content; a path leads to none but these."""
        answer = await client.get("/static/tidegate.css")
        assert (answer.status_code, "immutable" in answer.headers["cache-control"]) == (200, True)
        for name in ("nothing.css", "..%2Fassets.py", "%2e%2e/assets.py"):
            assert (await client.get(f"/static/{name}")).status_code == 404
