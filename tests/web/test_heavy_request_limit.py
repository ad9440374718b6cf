"""Requests that could cost much: bounded, made in pieces, and only some of them at a time for each who asks."""

from __future__ import annotations

import asyncio
import json
import threading
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime

import httpx
import pytest

from tests.history.stored_messages import said
from tests.scans.stored_channels import add_account, add_channel
from tests.waiting import until
from tests.web.api_client import refused, token
from tests.web.stalled_database import WAITING, stalled
from tests.web.visiting import sign_in, visiting
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import MessageId
from tidegate.database.pool import Database
from tidegate.history.queries import messages
from tidegate.history.queries.bot_context import PART, ContextBounds, outline, read
from tidegate.web.api.context import ContextStream
from tidegate.web.server.request_checks import MOST_VALUES

MESSAGES = 12 * PART + 7


@pytest.fixture
async def kept(database: Database) -> KnownChannel:
    """A channel with messages of several parts, each of some length; every third one answers another."""
    async with database.transaction() as connection:
        found = await add_channel(connection, await add_account(connection, "reader"))
        written = [said(number, f"message {number} " + "x" * 2_000) for number in range(1, MESSAGES + 1)]
        replies = [replace(one, reply_to=MessageId(one.id - 1)) if one.id % 3 == 0 else one for one in written]
        await messages.store(connection, found.key, replies)
    return found


@pytest.fixture
async def client(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """A client that shows a token for everything."""
    async with visiting(database) as opened:
        opened.headers["authorization"] = f"Bearer {await token(database)}"
        yield opened


def here(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


class TestContext:
    @pytest.mark.parametrize("limit", [1, PART, PART + 1, 50_000])
    @pytest.mark.parametrize("chars", [None, 1, 30, 5_000, PART * 2_100, MESSAGES * 2_100])
    async def test_in_parts_it_is_what_it_is_at_once(
        self, database: Database, kept: KnownChannel, limit: int, chars: int | None
    ) -> None:
        """The same messages, lines and end of what is known as the command prints, wherever the bounds fall."""
        bounds = ContextBounds(limit, chars)
        async with database.connection() as connection:
            right = await read(connection, kept, bounds, here)
            parts = ContextStream(database, await outline(connection, kept, bounds), bounds, here)
        document = json.loads(b"".join([piece async for piece in parts.as_json()]))
        text = b"".join([piece async for piece in parts.as_text()]).decode()
        assert [one["id"] for one in document["messages"]] == [one["id"] for one in right.messages]
        assert [_but_age(one["line"]) for one in document["messages"]] == list(map(_but_age, right.lines[1:]))
        assert list(map(_but_age, text.splitlines())) == list(map(_but_age, right.lines))
        assert {**document, "messages": []} == {**right.as_json(), "messages": []}

    async def test_it_is_told_beside_the_loop_and_forgotten(self, database: Database, kept: KnownChannel) -> None:
        """Lines are made in threads of their own; what was sent takes no memory any more."""
        threads = set()

        def noting(moment: datetime) -> datetime:
            threads.add(threading.current_thread())
            return here(moment)

        bounds = ContextBounds(50_000)
        async with database.connection() as connection:
            await connection.execute("UPDATE messages SET at = '2020-01-01Z'")
            parts = ContextStream(database, await outline(connection, kept, bounds), bounds, noting)
        tracemalloc.start()
        try:
            size = sum([len(piece) async for piece in parts.as_json()])
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert {thread.name.rpartition("_")[0] for thread in threads} == {"web-answers"}
        assert size > MESSAGES * 4_000  # the text, and the line
        assert peak < size  # at once it takes five times as much

    async def test_over_http_it_comes_in_pieces(self, client: httpx.AsyncClient, kept: KnownChannel) -> None:
        """Without a length in front; a short one with it."""
        async with client.stream("GET", f"/api/context/{kept.number}?limit=50000") as answer:
            assert ("content-length" in answer.headers, answer.headers["content-type"]) == (False, "application/json")
            assert len(json.loads(await answer.aread())["messages"]) == MESSAGES
        short = await client.get(f"/api/context/{kept.number}?limit=2&chars=50")
        assert (int(short.headers["content-length"]), len(short.json()["messages"])) == (len(short.content), 1)

    async def test_a_channel_without_messages_has_a_context(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        """Empty, and complete."""
        async with database.transaction() as connection:
            empty = await add_channel(connection, await add_account(connection, "other"), 8)
        answer = await client.get(f"/api/context/{empty.number}?limit=50000&chars=100")
        assert answer.json()["messages"] == []
        assert (await client.get(f"/api/context/{empty.number}?format=text")).text == ""


def _but_age(line: str) -> str:
    return line.partition("] ")[2] or line


class TestAtATime:
    async def test_a_token_has_two_under_way(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """The third is told to wait, what is light is answered all the same, and another token is not held up."""
        path = f"/api/context/{kept.number}"
        other = {"authorization": f"Bearer {await token(database, 'other')}"}
        async with AsyncExitStack() as stack:
            for _ in range(2):
                await stack.enter_async_context(client.stream("GET", path, params={"limit": 50_000}))
            third = await client.get(path, params={"limit": 50_000})
            assert "2 of your requests that take long are under way already" in refused(third, 429)
            assert int(third.headers["retry-after"]) > 0
            for heavy in ("/api/calls", "/api/search?q=message&limit=1000"):
                assert (await client.get(heavy)).status_code == 429
            assert (await client.get(path, params={"limit": 10})).status_code == 200
            assert (await client.get("/api/search?q=message")).status_code == 200
            assert (await client.get(path, params={"limit": 50_000}, headers=other)).status_code == 200
        # Both went away in the middle: nothing of theirs is counted any longer.
        await until(lambda: _is_answered(client, path))

    async def test_what_is_refused_or_fails_is_not_counted(
        self, client: httpx.AsyncClient, database: Database, kept: KnownChannel
    ) -> None:
        """A channel that is not there, and a database that goes away: afterwards a token has all its turns."""
        for _ in range(3):
            assert (await client.get("/api/context/Nowhere?limit=50000")).status_code == 404
            assert (await client.get("/api/calls?by=luck")).status_code == 422
        await asyncio.gather(*(client.get("/api/calls") for _ in range(10)))
        assert await _is_answered(client, f"/api/context/{kept.number}")

    async def test_as_many_as_are_set(self, database: Database, kept: KnownChannel) -> None:
        """The setting decides."""
        async with visiting(database, TIDEGATE_WEB_HEAVY_REQUESTS="1") as client:
            client.headers["authorization"] = f"Bearer {await token(database)}"
            async with client.stream("GET", f"/api/context/{kept.number}?limit=50000"):
                assert (await client.get("/api/calls")).status_code == 429
            await until(lambda: _is_answered(client, "/api/calls"))


async def _is_answered(client: httpx.AsyncClient, path: str) -> bool:
    return (await client.get(path, params={"limit": 1_000 if "calls" in path else 50_000})).status_code == 200


async def _is_waited_for(database: Database, count: int) -> bool:
    return await database.pool.fetchval(WAITING) == count


class TestBodies:
    @pytest.mark.parametrize(
        ("body", "status", "sentence"),
        [
            ("[" * 500_000, 413, "commas and brackets"),
            ('{"a":' * 40_000, 400, "error parsing the body"),
            ('{"name":' + "9" * 1_000_000 + "}", 400, "A number in a JSON document"),
            ('{"name": "x", "groups": [' + ",".join(["1"] * (MOST_VALUES + 1)) + "]}", 413, "commas and brackets"),
            ('{"name": "x", "groups": [' + ",".join(["1"] * 20_000) + "]}", 422, "body.groups.0"),
            ('{"' + "k" * 500_000 + '": 1, "name": 1}', 422, "body.name"),
        ],
        ids=["deep", "deep objects", "a long number", "many values", "many wrong values", "a long key"],
    )
    async def test_no_document_takes_long_to_refuse(
        self, client: httpx.AsyncClient, body: str, status: int, sentence: str
    ) -> None:
        """However it is nested, however many values it has, however long its numbers and names are: a sentence."""
        answer = await client.post("/api/target-lists", content=body, headers={"content-type": "application/json"})
        told = refused(answer, status)
        assert sentence in told
        assert len(told) < 2_000

    async def test_of_much_that_is_wrong_some_is_told(self, client: httpx.AsyncClient) -> None:
        """And how much more there is."""
        body = {"name": "x", "scopes": ["none"] * 100}
        told = refused(await client.post("/api/tokens", json=body), 422)
        assert (told.count("body.scopes"), "and 90 more" in told) == (10, True)

    async def test_ten_thousand_groups_are_named_at_once(self, client: httpx.AsyncClient, database: Database) -> None:
        """As many as a list may have, by title and by number, each the right one."""
        await database.pool.execute(
            "WITH known AS (INSERT INTO channels (platform, number, title) "
            "SELECT 'telegram', 100000 + n, 'Group ' || n FROM generate_series(1, 10000) n RETURNING id), "
            "seen AS (INSERT INTO accounts (name, platform) VALUES ('shop', 'telegram') RETURNING id) "
            "INSERT INTO sights SELECT seen.id, known.id, true FROM known, seen"
        )
        named = [f"Group {number}" if number % 2 else str(100_000 + number) for number in range(1, 10_001)]
        made = await client.post("/api/target-lists", json={"name": "everybody", "groups": named})
        assert (made.status_code, len(made.json()["groups"]), made.json()["next"]) == (201, 1_000, 1_000)
        assert await database.pool.fetchval("SELECT count(*) FROM target_list_members") == 10_000
        rest = (await client.get("/api/target-lists/everybody?skip=9500")).json()
        assert (len(rest["groups"]), rest["next"]) == (500, None)


class TestPages:
    async def test_a_browser_has_its_turns_too(self, database: Database) -> None:
        """Searches that take long are some at a time; another browser, and whatever is quick, is not held up."""
        async with visiting(database) as client, visiting(database) as other:
            for one in (client, other):
                await sign_in(one, database)
            async with asyncio.TaskGroup() as group, stalled(database, "messages"):
                searches = [group.create_task(client.get("/messages?q=words")) for _ in range(2)]
                await until(lambda: _is_waited_for(database, 2))
                third = await client.get("/messages?q=words")
                assert (third.status_code, "are under way already" in third.text) == (429, True)
                assert (await client.get("/accounts")).status_code == 200
                searches.append(group.create_task(other.get("/messages?q=words")))
                await until(lambda: _is_waited_for(database, 3))
            assert [one.result().status_code for one in searches] == [200, 200, 200]

    async def test_a_page_is_made_beside_the_loop(self, database: Database) -> None:
        """Also a refusal in a page's form."""
        async with visiting(database) as client:
            await sign_in(client, database)
            assert (await client.get("/channels")).headers["content-type"] == "text/html; charset=utf-8"
            assert (await client.get("/nowhere")).status_code == 404
        assert any(thread.name.startswith("web-answers") for thread in threading.enumerate())
