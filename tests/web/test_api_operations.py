"""The API about the house itself: accounts, calls, feed, settings, tokens; and what each scope lets."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests.held import holding
from tests.history.stored_messages import kept
from tests.recorded_events import unknown_event
from tests.web.api_client import client, refused, token
from tests.web.event_listener import settled
from tests.web.refusal_sentences import UNSTORABLE
from tests.web.web_client import answering
from tidegate.access.queries import tokens
from tidegate.access.queries.tokens import TokenScope
from tidegate.app.setting_sources import load
from tidegate.channels.queries.channels import KnownChannel
from tidegate.database.pool import Database
from tidegate.events.queries import feed
from tidegate.web import make_app
from tidegate.web.server.request_checks import LONGEST_BODY

__all__ = ["client", "kept"]  # fixtures

READ = ["/api/accounts", "/api/accounts/reader", "/api/calls", "/api/feed"]
ADMIN = ["/api/settings", "/api/tokens"]
TOKEN_ROUTES = [
    ("GET", "/api/tokens"), ("POST", "/api/tokens"), ("POST", "/api/tokens/bot/confirm"), ("DELETE", "/api/tokens/bot")
]  # fmt: skip


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
                await feed.record(connection, f"number {number}", unknown_event())
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

    async def test_settings_tell_no_secret(self, database: Database, kept: KnownChannel) -> None:
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
            ({"name": "x", "expires": "soon"}, 400, 'A token cannot expire "soon"'),
            ({"name": "x", "expires": "2020-01-01"}, 400, "would have expired already"),
            ({"name": "\x00"}, 400, UNSTORABLE),
            ({"name": "\ud800"}, 400, UNSTORABLE),
        ],
    )
    async def test_bad_input_is_a_sentence(
        self, client: httpx.AsyncClient, wanted: dict[str, object], status: int, sentence: str
    ) -> None:
        """bad-input-gets-a-sentence: what was wrong, and where; nothing is made."""
        as_json = {"content-type": "application/json"}
        answer = await client.post("/api/tokens", content=json.dumps(wanted), headers=as_json)
        assert sentence in refused(answer, status)
        assert len((await client.get("/api/tokens")).json()) == 1

    async def test_one_that_expires_says_so_and_is_refused_afterwards(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """401 with the moment at which it ended, as every refusal is."""
        async with holding(database) as clock:
            made = (await client.post("/api/tokens", json={"name": "new", "expires": "1d"})).json()
            assert made["expires_at"] == "2026-03-02T12:00:00+00:00"
            shown = {"authorization": f"Bearer {made['token']}"}
            assert (await client.get("/api/context/7", headers=shown)).status_code == 200
            await clock.advance(timedelta(days=1))
            answer = await client.get("/api/context/7", headers=shown)
            assert 'Token "new" expired at 2026-03-02T12:00:00+00:00' in refused(answer, 401)
            assert answer.headers["www-authenticate"] == "Bearer"
            rows = {one["name"]: one["state"] for one in (await client.get("/api/tokens")).json()}
        assert rows == {"new": "expired", "bot": "active"}

    async def test_one_of_a_backup_is_confirmed_by_another(self, client: httpx.AsyncClient, database: Database) -> None:
        """An admin that was confirmed at the terminal confirms the others; twice is nothing to do."""
        narrow = {"authorization": f"Bearer {await token(database, 'plain', scopes=[TokenScope.READ])}"}
        async with database.transaction() as connection:
            await tokens.unconfirm_all(connection)
        for headers in (narrow, {}):
            answer = await client.get("/api/accounts", headers=headers)
            assert "was restored from a backup" in refused(answer, 401)
        async with database.transaction() as connection:
            await tokens.confirm(connection, "bot")
        assert (await client.post("/api/tokens/plain/confirm")).status_code == 204
        assert (await client.get("/api/accounts", headers=narrow)).status_code == 200
        assert "is confirmed already" in refused(await client.post("/api/tokens/plain/confirm"), 409)
        assert 'no token "nobody"' in refused(await client.post("/api/tokens/nobody/confirm"), 404)


class TestPower:
    """No token makes, takes or confirms what may do more than itself."""

    async def admin(self, database: Database, **how: Any) -> dict[str, str]:
        async with database.transaction() as connection:
            secret = await tokens.add(connection, "admin", **how)
        return {"authorization": f"Bearer {secret}"}

    @pytest.mark.parametrize(
        ("wanted", "beyond"),
        [
            ({"scopes": ["read"]}, "the scope read"),
            ({"scopes": ["admin", "steer"]}, "the scope steer"),
            ({"scopes": ["read", "steer", "admin"], "channels": ["7"]}, "the scopes read, steer"),
            ({}, "the scope read"),
        ],
    )
    async def test_an_admin_gives_no_scope_that_it_does_not_have(
        self, client: httpx.AsyncClient, database: Database, wanted: dict[str, Any], beyond: str
    ) -> None:
        """Who may make tokens could else read everything with one of them."""
        shown = await self.admin(database, scopes=[TokenScope.ADMIN], channels=None)
        answer = await client.post("/api/tokens", json={"name": "new", **wanted}, headers=shown)
        assert f"gives nothing that it does not have itself: {beyond}" in refused(answer, 403)
        assert (await client.post("/api/tokens", json={"name": "n", "scopes": ["admin"]}, headers=shown)).is_success

    async def test_an_admin_gives_no_later_end_than_its_own(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """One for a day could else live on in another."""
        async with holding(database) as clock:
            end = clock.now() + timedelta(days=1)
            shown = await self.admin(database, scopes=list(TokenScope), channels=None, expires_at=end)
            for expires in ({}, {"expires": "2d"}, {"expires": "2026-03-02T12:00:01Z"}):
                answer = await client.post("/api/tokens", json={"name": "new", **expires}, headers=shown)
                assert "a later end" in refused(answer, 403)
            made = await client.post("/api/tokens", json={"name": "new", "expires": "1d"}, headers=shown)
            assert made.status_code == 201

    async def test_an_admin_of_some_channels_reaches_no_token(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Tokens are told of and made for all channels at once."""
        shown = await self.admin(database, scopes=list(TokenScope), channels=[kept.key])
        for method, path in TOKEN_ROUTES:
            answer = await client.request(method, path, headers=shown, json={"name": "new", "channels": ["7"]})
            assert "is for some channels only" in refused(answer, 403)
        assert len((await client.get("/api/tokens")).json()) == 2

    @pytest.mark.parametrize("scope", [TokenScope.READ, TokenScope.STEER])
    async def test_who_is_no_admin_reaches_no_token(
        self, client: httpx.AsyncClient, database: Database, scope: TokenScope
    ) -> None:
        """Neither to look, nor to make, confirm or revoke."""
        shown = {"authorization": f"Bearer {await token(database, 'plain', scopes=[scope])}"}
        for method, path in TOKEN_ROUTES:
            answer = await client.request(method, path, headers=shown, json={"name": "new"})
            assert "may not look at settings and tokens" in refused(answer, 403)

    async def test_an_admin_takes_and_confirms_none_above_it(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """It could else put out of work, or bring back, what the operator gave more trust."""
        shown = await self.admin(database, scopes=[TokenScope.ADMIN, TokenScope.READ], channels=None)
        await token(database, "steerer", scopes=[TokenScope.STEER])
        await token(database, "reader", scopes=[TokenScope.READ])
        async with database.transaction() as connection:
            await tokens.unconfirm_all(connection)
            await tokens.confirm(connection, "admin")
        for name in ("steerer", "bot"):
            for method, path in (("DELETE", f"/api/tokens/{name}"), ("POST", f"/api/tokens/{name}/confirm")):
                answer = await client.request(method, path, headers=shown)
                assert f'Token "{name}" may do more than token "admin": the scope steer' in refused(answer, 403)
        for method, path in (("POST", "/api/tokens/reader/confirm"), ("DELETE", "/api/tokens/reader")):
            assert (await client.request(method, path, headers=shown)).status_code == 204
        assert (await client.delete("/api/tokens/admin", headers=shown)).status_code == 204
        assert (await client.get("/api/tokens", headers=shown)).status_code == 401


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
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
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
