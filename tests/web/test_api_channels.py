"""The API about channels: listed page by page, shown, steered; what is left for the owner, and its cycles."""

from __future__ import annotations

import base64
import json
from typing import Any

import httpx
import pytest

from tests.held import NOON
from tests.history.stored_messages import kept
from tests.scans.stored_channels import add_account
from tests.web.api_client import client, refused, token
from tests.web.seen_channels import see
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import AccountId, ChannelId
from tidegate.cycles.queries import cycles
from tidegate.database.pool import Database
from tidegate.platforms.interface import Channel
from tidegate.platforms.telegram import TELEGRAM

__all__ = ["client", "kept"]  # fixtures


def written(decoded: object) -> str:
    """What decodes to that."""
    return base64.urlsafe_b64encode(json.dumps(decoded).encode()).decode()


async def pages(client: httpx.AsyncClient, **asked: Any) -> list[list[str]]:
    """The titles of every page of a listing, from the first to the last."""
    found, cursor = [], None
    while True:
        answer = await client.get("/api/channels", params={**asked, **({"cursor": cursor} if cursor else {})})
        assert answer.status_code == 200, answer.text
        found.append([one["title"] for one in answer.json()["channels"]])
        cursor = answer.json()["next"]
        if cursor is None:
            return found


class TestListing:
    async def test_pages_follow_one_another(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """By title whatever its case, equals by their number, without one twice or left out; also backwards."""
        await see(database, kept, {1: "beta", 2: "Alpha", 3: "beta", 4: "\u202eevil <script>", 5: "x" * 10_000})
        forwards = await pages(client, limit=2)
        assert forwards == [["Alpha", "beta"], ["beta", "Channel 7"], ["x" * 10_000, "\u202eevil <script>"]]
        backwards = await pages(client, limit=2, descending=True)
        assert [one for page in backwards for one in page] == [one for page in forwards for one in page][::-1]

    async def test_they_are_found_by_title_and_number(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Anywhere in the title, in any case and script; a number finds its channel too, and a percent sign itself."""
        await see(database, kept, {1: "Käse NEWS", 22: "今日新聞", 3: "100% sure", 4: "_"})
        for typed, found in {
            "news": ["Käse NEWS"], "KÄSE": ["Käse NEWS"], "新聞": ["今日新聞"], "22": ["今日新聞"], "%": ["100% sure"],
            "_": ["_"], "nothing": [],
        }.items():  # fmt: skip
            assert await pages(client, q=typed) == [found], typed

    async def test_only_some_are_asked_for(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Those mirrored or not, and those an account sees."""
        await see(database, kept, {1: "Idle"})
        async with database.transaction() as connection:
            other = await add_account(connection, "other")
            await channels.see(connection, TELEGRAM, other, [Channel(ChannelId(9), "Foreign")])
        assert await pages(client, enabled=True) == [["Channel 7"]]
        assert await pages(client, enabled=False, account="reader") == [["Idle"]]
        assert await pages(client, account="other") == [["Foreign"]]
        assert "no account" in refused(await client.get("/api/channels", params={"account": "x"}), 404)

    async def test_other_orders(self, client: httpx.AsyncClient, database: Database, kept: KnownChannel) -> None:
        """By the last scan, the one never scanned first; by reader, one without any first."""
        await see(database, kept, {1: "Early", 2: "Never", 3: "Unread"})
        async with database.transaction() as connection:
            for named in ("1", "2"):
                await channels.enable(connection, await channels.find(connection, named), channels.MirrorOptions())
            await connection.execute("UPDATE places SET last_scanned_at = $1 WHERE channel = $2", NOON, kept.key)
            await connection.execute(
                "UPDATE places SET last_scanned_at = $1::timestamptz - interval '1 h' "
                "WHERE channel = (SELECT id FROM channels WHERE number = 1)",
                NOON,
            )
            await connection.execute("UPDATE channels SET reader = NULL WHERE number = 3")
        assert await pages(client, sort="scanned", limit=1) == [["Never"], ["Early"], ["Channel 7"]]
        assert (await pages(client, sort="reader", limit=1))[0] == ["Unread"]

    async def test_a_row_says_what_is_remembered(self, client: httpx.AsyncClient, database: Database) -> None:
        """Watermark, last verdict with its reason, and when it is looked at next; nulls for one never mirrored."""
        await database.pool.execute("UPDATE places SET verdict = 'gate: unchanged', watermark = 3")
        [one] = (await client.get("/api/channels")).json()["channels"]
        assert (one["channel"], one["watermark"], one["verdict"]) == (7, 3, "gate: unchanged")
        assert one["next_due_at"] is not None
        await database.pool.execute("DELETE FROM places; UPDATE channels SET enabled = false")
        [one] = (await client.get("/api/channels")).json()["channels"]
        assert (one["watermark"], one["verdict"], one["next_due_at"]) == (None, None, None)

    @pytest.mark.parametrize(
        "cursor", ["x", "W10", "WyJ0aXRsZSIsZmFsc2UsInhcdTAwMDAiLDFd", "é", "WyJzY2FubmVkIixmYWxzZSwieCIsMV0"]
    )
    async def test_a_cursor_of_nothing_is_refused(self, client: httpx.AsyncClient, cursor: str) -> None:
        """What no page gave makes no sense, whatever it decodes to."""
        for sort in ("title", "scanned", "reader"):
            assert "cursor" in refused(await client.get("/api/channels", params={"cursor": cursor, "sort": sort}), 400)

    async def test_a_narrow_token_sees_its_own(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Neither in a list nor by its number."""
        await see(database, kept, {1: "Other"})
        client.headers["authorization"] = f"Bearer {await token(database, 'narrow', kept.key)}"
        assert await pages(client) == [["Channel 7"]]
        assert (await client.get("/api/channels/7")).status_code == 200
        for path in ("/api/channels/1", "/api/channels/1/topics"):
            assert "reads no channel" in refused(await client.get(path), 404)
        assert "some channels" in refused(await client.post("/api/channels/7/disable"), 403)


class TestOne:
    async def test_a_number_that_nobody_holds_is_not_there(self, client: httpx.AsyncClient) -> None:
        """However long it is; a channel's own number may be written as Telegram's bots write it."""
        for written in ("9" * 19, "9" * 5_000, "-9", "007", "\u0667"):
            assert "no channel" in refused(await client.get(f"/api/channels/{written}"), 404)
        assert (await client.get("/api/channels/-1007")).json()["channel"] == 7

    async def test_it_is_told_as_the_command_does(self, client: httpx.AsyncClient, database: Database) -> None:
        """Memory, coverage with its gaps, topics."""
        await database.pool.execute(
            "INSERT INTO coverage (channel, kind, spans) SELECT id, 'messages', '{[0,2),[3,4)}' FROM channels; "
            "UPDATE places SET newest_seen = 4; "
            "INSERT INTO places (channel, topic, title) SELECT id, 5, 'Five' FROM channels"
        )
        found = (await client.get("/api/channels/Channel 7")).json()
        assert (found["coverage"]["messages"], found["gaps"]["messages"]) == ([[0, 1], [3, 3]], [[2, 2], [4, 4]])
        assert (found["messages"], found["archives"], found["topics"][0]["title"]) == (3, 0, "Five")

    async def test_topics_page_by_page(self, client: httpx.AsyncClient, database: Database) -> None:
        """In the order of their numbers; the channel itself is none of them."""
        await database.pool.execute(
            "INSERT INTO places (channel, topic, title) SELECT id, n, 'T' || n FROM channels, generate_series(2, 4) n"
        )
        first = (await client.get("/api/channels/7/topics", params={"limit": 2})).json()
        assert ([one["topic"] for one in first["topics"]], first["next"]) == ([2, 3], 3)
        last = (await client.get("/api/channels/7/topics", params={"limit": 2, "after": 3})).json()
        assert ([one["title"] for one in last["topics"]], last["next"]) == (["T4"], None)


class TestSteering:
    async def test_enable_and_disable(self, client: httpx.AsyncClient, database: Database, kept: KnownChannel) -> None:
        """As wished; disabling twice is as good as once."""
        await see(database, kept, {1: "There"})
        answer = await client.post("/api/channels/7/enable", json={"full": True, "hash": True, "destination": "There"})
        found = answer.json()["channel"]
        assert (found["full"], found["hash"], found["enabled"], answer.json()["remark"]) == (True, True, True, "")
        for _ in range(2):
            assert (await client.post("/api/channels/7/disable")).json()["enabled"] is False
        assert (await client.post("/api/channels/7/enable")).json()["channel"]["full"] is False

    @pytest.mark.parametrize(
        ("wanted", "status", "sentence"),
        [
            ({"destination": "7"}, 400, "cannot be its own destination"),
            ({"destination": "Nowhere"}, 400, 'no channel "Nowhere"'),
            ({"topics": [0]}, 422, "body.topics"),
        ],
    )
    async def test_what_makes_no_sense_changes_nothing(
        self, client: httpx.AsyncClient, wanted: dict[str, object], status: int, sentence: str
    ) -> None:
        """bad-input-gets-a-sentence: a sentence, and nothing half written."""
        await client.post("/api/channels/7/disable")
        assert sentence in refused(await client.post("/api/channels/7/enable", json=wanted), status)
        assert (await client.get("/api/channels/7")).json()["enabled"] is False

    async def test_what_needs_a_platform_is_left_for_the_owner(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """202 and a place to look, at once, although nobody serves the account; the result is there when it is done."""
        await client.post("/api/channels/7/enable", json={"full": True})
        asked = {
            "/api/channels/7/cycle": None,
            "/api/channels/7/backfill": {"target": 10, "since": "2026-01-01T00:00:00Z"},
            "/api/channels/7/reconcile": {"limit": 5},
            "/api/accounts/reader/cycle": None,
            "/api/accounts/reader/sync": None,
        }
        for path, wanted in asked.items():
            answer = await client.post(path, json=wanted) if wanted else await client.post(path)
            assert answer.status_code == 202, answer.text
            found = (await client.get(answer.headers["location"])).json()
            assert found == answer.json()
            assert (found["account"], found["kind"], found["state"]) == ("reader", path.rpartition("/")[2], "asked")
        key = await database.pool.fetchval("SELECT id FROM channels WHERE number = 7")
        rows = await database.pool.fetch("SELECT args FROM commands ORDER BY id")
        assert [row["args"] for row in rows] == [
            {"channel": "7"},
            {"channels": [key], "target": 10, "since": "2026-01-01T00:00:00+00:00", "everything": False},
            {"channels": [key], "limit": 5},
            {"channel": None},
            {},
        ]
        await database.pool.execute("UPDATE commands SET state = 'done', result = '{\"channels\": 3}'")
        done = (await client.get(answer.headers["location"])).json()
        assert (done["state"], done["result"]) == ("done", {"channels": 3})
        assert "no command 999" in refused(await client.get("/api/commands/999"), 404)

    async def test_what_cannot_be_now_is_refused(self, client: httpx.AsyncClient, database: Database) -> None:
        """Not mirrored in full, not mirrored, an account that rests: the sentence says what to do first."""
        assert "not mirrored in full" in refused(await client.post("/api/channels/7/backfill"), 400)
        await client.post("/api/accounts/reader/pause")
        assert "is paused" in refused(await client.post("/api/channels/7/cycle"), 409)
        await client.post("/api/channels/7/disable")
        assert "is not mirrored" in refused(await client.post("/api/channels/7/cycle"), 409)
        await database.pool.execute("UPDATE channels SET reader = NULL")
        assert "No account reads" in refused(await client.post("/api/channels/7/cycle"), 409)


class TestCycles:
    async def test_what_each_spent_newest_first(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """Page by page, with the report that the command printed."""
        async with database.transaction() as connection:
            for number in range(1, 4):
                report = {"calls_total": number * 10}
                await cycles.record(connection, kept.reader or AccountId(0), number, NOON, report, whole=True)
        first = (await client.get("/api/accounts/reader/cycles", params={"limit": 2})).json()
        assert [(one["cycle"], one["calls_total"]) for one in first["cycles"]] == [(3, 30), (2, 20)]
        last = (await client.get("/api/accounts/reader/cycles", params={"before": first["next"]})).json()
        assert ([one["cycle"] for one in last["cycles"]], last["next"]) == ([1], None)
