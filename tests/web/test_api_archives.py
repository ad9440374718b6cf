"""The API about archives: found by name and by what is inside, looked into, tried again."""

from __future__ import annotations

import httpx
import pytest

from tests.history.stored_messages import kept
from tests.web.api_client import client, refused, token
from tests.web.archive_builder import PNG, three
from tidegate.archives.queries import previews
from tidegate.database.pool import Database

__all__ = ["client", "kept", "three"]  # fixtures


async def names(client: httpx.AsyncClient, **asked: object) -> list[str]:
    answer = await client.get("/api/archives", params={name: str(value) for name, value in asked.items()})
    assert answer.status_code == 200, answer.text
    return [one["name"] for one in answer.json()["archives"]]


@pytest.mark.usefixtures("three")
class TestListing:
    async def test_they_are_found_by_name_and_by_what_is_inside(self, client: httpx.AsyncClient) -> None:
        """Part of the name in any case, or words of a path inside; newest first."""
        assert await names(client) == ["Bridges.zip", "Towers.zip", "Dragons.zip"]
        assert await names(client, q="DRAG") == ["Dragons.zip"]
        assert await names(client, q="blue stl") == ["Dragons.zip"]
        assert await names(client, q="%") == []
        assert await names(client, state="failed") == ["Towers.zip"]
        assert await names(client, channel=7, state="filed") == ["Dragons.zip"]

    async def test_pages_follow_one_another(self, client: httpx.AsyncClient) -> None:
        """By the number that the page before names."""
        first = (await client.get("/api/archives", params={"limit": 2})).json()
        assert [one["name"] for one in first["archives"]] == ["Bridges.zip", "Towers.zip"]
        assert await names(client, before=first["next"]) == ["Dragons.zip"]

    @pytest.mark.parametrize(
        ("asked", "status", "sentence"),
        [("state=lost", 422, "query.state"), ("channel=9", 404, "no channel"), ("before=0", 422, "query.before")],
    )
    async def test_bad_input_is_a_sentence(
        self, client: httpx.AsyncClient, asked: str, status: int, sentence: str
    ) -> None:
        """bad-input-gets-a-sentence: what was wrong, and where."""
        assert sentence in refused(await client.get(f"/api/archives?{asked}"), status)


class TestOne:
    async def test_it_is_told_as_the_command_does(self, client: httpx.AsyncClient, three: list[int]) -> None:
        """Where it came from, what is inside; of a failure the reason in a sentence, the attempts, the next try."""
        filed = (await client.get(f"/api/archives/{three[0]}")).json()
        assert (filed["channel"], filed["files"][0]["name"], filed["reason"]) == (7, "Dragons.zip", None)
        assert [one["path"] for one in filed["inside"]] == ["scales/red.stl", "scales/blue.stl"]
        failed = (await client.get(f"/api/archives/{three[1]}")).json()
        assert (failed["attempts"], failed["detail"]) == (3, "The line broke.")
        assert (failed["next_try_at"], "worker" in failed["waits_for"]) == (None, True)
        assert "no archive 999" in refused(await client.get("/api/archives/999"), 404)

    async def test_contents_page_by_page(self, client: httpx.AsyncClient, three: list[int]) -> None:
        """In the archive's own order."""
        first = (await client.get(f"/api/archives/{three[0]}/contents", params={"limit": 1})).json()
        assert ([one["path"] for one in first["inside"]], first["next"]) == (["scales/red.stl"], 1)
        last = (await client.get(f"/api/archives/{three[0]}/contents", params={"after": 1})).json()
        assert ([one["path"] for one in last["inside"]], last["next"]) == (["scales/blue.stl"], None)

    async def test_its_picture(self, client: httpx.AsyncClient, database: Database, three: list[int]) -> None:
        """As it is, under its own type; 404 where there is none."""
        async with database.transaction() as connection:
            await previews.keep(connection, three[0], 5, PNG, "image/png")
        answer = await client.get(f"/api/archives/{three[0]}/preview")
        assert (answer.content, answer.headers["content-type"]) == (PNG, "image/png")
        assert "no preview" in refused(await client.get(f"/api/archives/{three[1]}/preview"), 404)

    async def test_a_narrow_token_sees_its_own(
        self, client: httpx.AsyncClient, database: Database, three: list[int]
    ) -> None:
        """Archives of other channels are not there for it."""
        await database.pool.execute("INSERT INTO channels (platform, number, title) VALUES ('telegram', 8, 'Other')")
        other = await database.pool.fetchval("SELECT id FROM channels WHERE number = 8")
        client.headers["authorization"] = f"Bearer {await token(database, 'narrow', other)}"
        assert await names(client) == []
        for path in ("", "/contents", "/preview"):
            refused(await client.get(f"/api/archives/{three[0]}{path}"), 404)


class TestRetry:
    async def test_one_is_tried_again(self, client: httpx.AsyncClient, database: Database, three: list[int]) -> None:
        """Also one that was given up; one that has not failed is told so."""
        answer = await client.post(f"/api/archives/{three[2]}/retry")
        assert answer.json() == {"asked": [three[2]]}
        assert await database.pool.fetchval("SELECT by_hand FROM failures WHERE archive = $1", three[2])
        assert "has not failed: it is filed" in refused(await client.post(f"/api/archives/{three[0]}/retry"), 409)

    async def test_all_are_tried_again_or_those_of_a_reason(self, client: httpx.AsyncClient, three: list[int]) -> None:
        """None is an answer, not a refusal."""
        nothing = await client.post("/api/archives/retry", json={"reason": "size_limit"})
        assert nothing.json() == {"asked": []}
        assert (await client.post("/api/archives/retry")).json() == {"asked": three[1:]}
        assert "body.reason" in refused(await client.post("/api/archives/retry", json={"reason": "luck"}), 422)
