"""The HTTP API over real HTTP: tokens, search and context, and refusals in sentences."""

from __future__ import annotations

import httpx
import pytest

from tests.history.stored_messages import kept, said
from tests.scans.stored_channels import add_channel
from tests.web.api_client import client, refused, token
from tidegate.access.queries import tokens
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import AccountId, MessageId
from tidegate.database.pool import Database
from tidegate.history.queries import messages

__all__ = ["client", "kept"]  # fixtures


class TestSearch:
    async def test_a_bot_searches(self, client: httpx.AsyncClient) -> None:
        """The shape of the command's document, newest first or by relevance."""
        answer = await client.get("/api/search", params={"q": "tower author:ada", "by": "relevance"})
        document = answer.json()
        assert (answer.status_code, document["query"], document["more"], document["weighed"]) == (
            200, "tower author:ada", False, None,
        )  # fmt: skip
        assert [(one["id"], one["text"], one["author_id"]) for one in document["results"]] == [(1, "which tower?", 3)]

    async def test_days_are_those_of_the_zone(self, client: httpx.AsyncClient) -> None:
        """Noon in UTC is the next day already where the day begins fourteen hours earlier."""
        for zone, found in (("UTC", 0), ("Pacific/Kiritimati", 1)):
            answer = await client.get("/api/search", params={"q": "tower after:2026-03-02", "zone": zone})
            assert len(answer.json()["results"]) == found

    @pytest.mark.parametrize(
        ("asked", "status", "sentence"),
        [
            ({"q": "..."}, 400, "There is no word to look for"),
            ({"q": "x before:soon"}, 400, "before:soon is not a date"),
            ({"q": "x", "zone": "Mars"}, 400, 'There is no time zone "Mars"'),
            ({"q": "x", "zone": "../../etc/passwd"}, 400, "There is no time zone"),
            ({"q": "x channel:Nowhere"}, 404, 'There is no channel "Nowhere"'),
            ({"q": "x", "limit": "0"}, 422, "query.limit"),
            ({"q": "x", "by": "luck"}, 422, "query.by"),
            ({}, 422, "query.q"),
        ],
    )
    async def test_bad_input_is_a_sentence(
        self, client: httpx.AsyncClient, asked: dict[str, str], status: int, sentence: str
    ) -> None:
        """bad-input-gets-a-sentence: what was wrong, and where."""
        assert sentence in refused(await client.get("/api/search", params=asked), status)


class TestContext:
    async def test_a_bot_has_its_memory_in_one_request(self, client: httpx.AsyncClient, kept: KnownChannel) -> None:
        """By number or title, as a document or as lines, within its bounds; it says where history is incomplete."""
        answer = await client.get(f"/api/context/{kept.number}", params={"limit": 2})
        document = answer.json()
        assert (answer.status_code, [one["id"] for one in document["messages"]]) == (200, [3, 4])
        assert (document["channel"], document["incomplete_before"]) == (7, 5)
        text = await client.get(f"/api/context/{kept.title}", params={"format": "text", "before": 2})
        assert text.headers["content-type"].startswith("text/plain")
        first, second = text.text.splitlines()
        assert (first, second.partition("] ")[2]) == ("(history is incomplete before 2)", "Ada(3): which tower?")

    async def test_an_old_message_has_the_date_of_the_zone(self, client: httpx.AsyncClient, database: Database) -> None:
        """Beyond seven days the line has the date where the reader is."""
        await database.pool.execute("UPDATE messages SET at = '2020-05-31 20:00Z'")
        answer = await client.get("/api/context/7", params={"format": "text", "zone": "Asia/Tokyo"})
        assert "[2020-06-01] Ada(3)" in answer.text

    @pytest.mark.parametrize(
        ("path", "status", "sentence"),
        [
            ("/api/context/Nowhere", 404, 'There is no channel "Nowhere"'),
            ("/api/context/7?limit=50001", 422, "query.limit"),
            ("/api/context/7?before=99999999999999999999", 422, "query.before"),
            ("/api/context/7?format=song", 422, "query.format"),
            ("/api/nothing", 404, "There is nothing at /api/nothing."),
        ],
    )
    async def test_bad_input_is_a_sentence(
        self, client: httpx.AsyncClient, path: str, status: int, sentence: str
    ) -> None:
        """bad-input-gets-a-sentence: what was wrong, and where."""
        assert sentence in refused(await client.get(path), status)


class TestTokens:
    @pytest.mark.parametrize("path", ["/api/search?q=tower", "/api/context/7"])
    async def test_without_a_token_nothing_is_told(self, client: httpx.AsyncClient, path: str) -> None:
        """No token, another kind of sign-in, a wrong one: 401 and how to get one."""
        del client.headers["authorization"]
        for shown in ({}, {"authorization": "Basic x"}, {"authorization": "Bearer"}, {"authorization": "Bearer x"}):
            answer = await client.get(path, headers=shown)
            assert "tidegate token add" in refused(answer, 401)
            assert answer.headers["www-authenticate"] == "Bearer"

    async def test_a_revoked_token_opens_nothing(self, client: httpx.AsyncClient, database: Database) -> None:
        """From the next request on."""
        assert (await client.get("/api/context/7")).status_code == 200
        async with database.transaction() as connection:
            await tokens.revoke(connection, "bot")
        assert "unknown or was revoked" in refused(await client.get("/api/context/7"), 401)

    async def test_a_scope_that_is_missing_is_named(self, client: httpx.AsyncClient, database: Database) -> None:
        """403: the token is known, and may not."""
        secret = await token(database, "nothing", scopes=())
        answer = await client.get("/api/context/7", headers={"authorization": f"Bearer {secret}"})
        assert "may not read" in refused(answer, 403)

    async def test_a_token_for_one_channel_sees_no_other(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Neither in a search nor as a context, and not that it exists."""
        async with database.transaction() as connection:
            other = await add_channel(connection, AccountId((await channels.find(connection, "7")).reader or 0), 8)
            await messages.store(connection, other.key, [said(MessageId(1), "a secret tower")])
        client.headers["authorization"] = f"Bearer {await token(database, 'narrow', kept.key)}"
        found = (await client.get("/api/search", params={"q": "tower"})).json()["results"]
        assert {one["channel"] for one in found} == {7}
        assert (await client.get("/api/context/7")).status_code == 200
        assert "reads no channel" in refused(await client.get("/api/context/8"), 404)
        assert "reads no channel" in refused(await client.get("/api/search", params={"q": "x channel:8"}), 404)
