"""The API about the house itself: accounts, calls, feed, settings, tokens; and what each scope lets."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.store.test_context import kept
from tests.web.test_api import client, refused, token
from tests.web.test_news import settled
from tests.web.test_web import answering
from tidegate.sources import load
from tidegate.store import feed
from tidegate.store.channels import Kept
from tidegate.store.database import Database
from tidegate.store.tokens import TokenScope
from tidegate.web import make_app
from tidegate.web.edge import LONGEST_BODY

__all__ = ["client", "kept"]  # fixtures

UNSTORABLE = "A text has a character in it that cannot be stored: NUL (U+0000), or half of a pair. Take it out."
READ = ["/api/accounts", "/api/accounts/reader", "/api/calls", "/api/feed"]
ADMIN = ["/api/settings", "/api/tokens"]


class TestAccounts:
    async def test_they_are_listed_as_the_command_does(self, client: httpx.AsyncClient) -> None:
        """The same fields, and one of them alone by its name."""
        [one] = (await client.get("/api/accounts")).json()
        assert (one["name"], one["platform"], one["state"], one["served_by"]) == ("reader", "telegram", "active", None)
        assert (await client.get("/api/accounts/reader")).json() == one
        assert 'no account named "nobody"' in refused(await client.get("/api/accounts/nobody"), 404)

    async def test_pause_and_resume(self, client: httpx.AsyncClient, database: Database) -> None:
        """The state is stored with its event, and the owner is told to look again; twice is as good as once."""
        for _ in range(2):
            paused = (await client.post("/api/accounts/reader/pause")).json()
            assert (paused["state"], paused["next_action"]) == (
                "paused", "resume it with: tidegate account resume reader",
            )  # fmt: skip
        assert (await client.post("/api/accounts/reader/resume")).json()["state"] == "active"
        kinds = await database.pool.fetch("SELECT kind FROM events WHERE kind LIKE 'account.%' ORDER BY id")
        assert [row["kind"] for row in kinds] == ["account.added", "account.paused", "account.resumed"]
        assert await database.pool.fetchval("SELECT count(*) FROM commands WHERE kind = 'look_again'") == 3

    async def test_one_that_is_signed_out_cannot_be_resumed(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """409: what a person has to do first is in the sentence."""
        await database.pool.execute("UPDATE accounts SET state = 'signed_out'")
        assert "is signed out: sign it in again" in refused(await client.post("/api/accounts/reader/resume"), 409)


class TestFeed:
    async def test_it_is_read_on_from_its_cursor(self, client: httpx.AsyncClient, database: Database) -> None:
        """Pages follow one another without a gap, and the last one says where to go on."""
        async with database.transaction() as connection:
            for number in range(3):
                await feed.record(connection, "test.happened", f"number {number}")
        await settled(database)
        seen, after = [], None
        while page := (await client.get("/api/feed", params={"limit": 2} | ({"after": after} if after else {}))).json():
            if not page["events"]:
                break
            seen += [event["subject"] for event in page["events"]]
            after = page["next"]
        assert seen[-3:] == ["number 0", "number 1", "number 2"]
        assert page["next"] == after
        assert (await client.get("/api/feed", params={"after": "now"})).json() == {"events": [], "next": after}
        assert "none of this feed" in refused(await client.get("/api/feed", params={"after": "soon"}), 400)


class TestOperations:
    async def test_calls_are_summed(self, client: httpx.AsyncClient, database: Database) -> None:
        """As ``tidegate calls``; a way of summing that there is not is refused."""
        await database.pool.execute(
            "INSERT INTO calls (account, kind, method, outcome, at) "
            "SELECT id, 'work', 'GetHistory', 'ok', now() FROM accounts"
        )
        [one] = (await client.get("/api/calls")).json()
        assert (one["account"], one["method"], one["count"], one["cycle"]) == ("reader", "GetHistory", 1, None)
        assert "query.by" in refused(await client.get("/api/calls", params={"by": "moon"}), 422)

    async def test_settings_tell_no_secret(self, database: Database, kept: Kept) -> None:
        """Of a secret only that it is set; each has its source."""
        loaded = load({"TIDEGATE_KEY": "hunter2-hunter2-hunter2", "TIDEGATE_WEB_PORT": "8123"})
        async with answering(make_app(database, loaded)) as opened:
            opened.headers["authorization"] = f"Bearer {await token(database)}"
            answer = await opened.get("/api/settings")
        rows = {one["setting"]: one for one in answer.json()}
        assert (rows["web_port"]["value"], rows["web_port"]["source"]) == (8123, "TIDEGATE_WEB_PORT")
        assert rows["key"]["value"] == "(set, hidden)"
        assert "hunter2" not in answer.text


class TestTokens:
    async def test_made_listed_used_and_revoked(self, client: httpx.AsyncClient) -> None:
        """The secret is told once and opens what its scope says, until it is revoked."""
        made = await client.post("/api/tokens", json={"name": "new", "channels": ["7"]})
        assert (made.status_code, made.json()["scopes"]) == (201, ["read"])
        shown = {"authorization": f"Bearer {made.json()['token']}"}
        assert (await client.get("/api/context/7", headers=shown)).status_code == 200
        rows = {one["name"]: one for one in (await client.get("/api/tokens")).json()}
        assert (rows["new"]["channels"], rows["bot"]["channels"]) == (["Channel 7"], None)
        assert made.json()["token"] not in (await client.get("/api/tokens")).text
        assert (await client.delete("/api/tokens/new")).status_code == 204
        assert "revoked" in refused(await client.get("/api/context/7", headers=shown), 401)
        assert 'no token "new"' in refused(await client.delete("/api/tokens/new"), 404)

    @pytest.mark.parametrize(
        ("wanted", "status", "sentence"),
        [
            ({"name": "bot"}, 400, 'There is a token "bot" already'),
            ({"name": " "}, 400, "needs a name"),
            ({"name": "x", "channels": ["Nowhere"]}, 404, 'There is no channel "Nowhere"'),
            ({"name": "x", "scopes": ["all"]}, 422, "body.scopes"),
            ({"name": "x", "scopes": []}, 422, "body.scopes"),
            ({"name": "\x00"}, 400, UNSTORABLE),
            ({"name": "\ud800"}, 400, UNSTORABLE),
        ],
    )
    async def test_bad_input_is_a_sentence(
        self, client: httpx.AsyncClient, wanted: dict[str, object], status: int, sentence: str
    ) -> None:
        """Law 12: what was wrong, and where; nothing is made."""
        as_json = {"content-type": "application/json"}
        answer = await client.post("/api/tokens", content=json.dumps(wanted), headers=as_json)
        assert sentence in refused(answer, status)
        assert len((await client.get("/api/tokens")).json()) == 1


class TestScopes:
    async def test_each_scope_lets_its_own(self, client: httpx.AsyncClient, database: Database) -> None:
        """A token with one scope is refused, by name, whatever needs another."""
        wanted = {
            TokenScope.READ: [("GET", path) for path in READ],
            TokenScope.STEER: [("POST", "/api/accounts/reader/pause"), ("POST", "/api/accounts/reader/resume")],
            TokenScope.ADMIN: [("GET", path) for path in ADMIN],
        }
        for scope in TokenScope:
            shown = {"authorization": f"Bearer {await token(database, scope.value, scopes=[scope])}"}
            for needed, asked in wanted.items():
                for method, path in asked:
                    answer = await client.request(method, path, headers=shown)
                    if needed is scope:
                        assert answer.status_code == 200, path
                    else:
                        assert f"do not include {needed.value}" in refused(answer, 403)

    async def test_a_token_for_a_channel_is_for_no_house(
        self, client: httpx.AsyncClient, database: Database, kept: Kept
    ) -> None:
        """What is told of all channels at once is none of its business, whatever its scopes."""
        shown = {"authorization": f"Bearer {await token(database, 'narrow', kept.key)}"}
        for path in (*READ, *ADMIN):
            assert "is for some channels only" in refused(await client.get(path, headers=shown), 403)
        assert "some channels" in refused(await client.post("/api/accounts/reader/pause", headers=shown), 403)


class TestTooLong:
    @pytest.mark.parametrize("announced", [True, False])
    async def test_a_body_that_is_too_long_is_a_problem_with_a_sentence(
        self, client: httpx.AsyncClient, *, announced: bool
    ) -> None:
        """413 as every refusal of the API is, whether the length was announced or not."""
        content = b'"' + b"x" * LONGEST_BODY + b'"'

        async def unannounced() -> AsyncIterator[bytes]:
            yield content

        answer = await client.post(
            "/api/tokens",
            content=content if announced else unannounced(),
            headers={"content-type": "application/json"},
        )
        assert "A request may have 1,048,576 bytes" in refused(answer, 413)


class TestDocument:
    async def test_everybody_may_read_what_the_api_is(self, client: httpx.AsyncClient) -> None:
        """The OpenAPI document needs no token, and names how one is shown."""
        del client.headers["authorization"]
        document = (await client.get("/api/openapi.json")).json()
        assert document["openapi"].startswith("3.")
        assert document["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
        assert "/api/search" in document["paths"]
