"""A database that takes a question and never answers it: pages and API give up after a stated time, and say so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.waiting import PATIENCE, until
from tests.web.api_client import token
from tests.web.stalled_database import WAITING, stalled
from tests.web.visiting import htmx, sign_in, visiting
from tidegate.access.queries.tokens import TokenScope
from tidegate.database.pool import Database
from tidegate.events.kinds.accounts import AccountAdded
from tidegate.events.queries import feed

SENTENCE = "The database does not answer right now. Try again in a moment."


@pytest.fixture
async def client(database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is signed in where pages wait three seconds."""
    async with visiting(database, TIDEGATE_WEB_WAITS_FOR="3s") as opened:
        opened.headers["x-for-tests"] = await sign_in(opened, database)
        yield opened


async def test_a_page_gives_up_and_says_so(client: httpx.AsyncClient, database: Database) -> None:
    """The same 503 as for a database that is away, for pages, buttons and the API; afterwards all is well again."""
    shown = {"authorization": f"Bearer {await token(database, scopes=list(TokenScope))}"}
    async with stalled(database, "channels", "runs"):
        *pages, pressed, asked = await asyncio.gather(
            client.get("/channels"),
            client.get("/activity"),
            client.post("/activity/pause-all", headers=htmx(client.headers["x-for-tests"])),
            client.get("/api/channels", headers=shown),
        )
    for answer in pages:
        assert (answer.status_code, answer.headers["retry-after"], SENTENCE in answer.text) == (503, "5", True)
    for problem in (pressed, asked):
        assert (problem.status_code, problem.json()["detail"]) == (503, SENTENCE)
    assert (await client.get("/channels")).status_code == 200
    assert not await database.pool.fetchval("SELECT count(*) FROM events WHERE kind = 'run.paused'")


async def test_what_was_given_up_waits_no_longer(client: httpx.AsyncClient, database: Database) -> None:
    """The question is taken back: no session of the server is left behind it while the stall goes on."""

    async def nobody_waits() -> bool:
        return not await database.pool.fetchval(WAITING)

    async with stalled(database, "channels"):
        answers = await asyncio.gather(*(client.get("/channels") for _ in range(5)))
        assert {answer.status_code for answer in answers} == {503}
        await until(nobody_waits)


async def test_open_pages_hear_news_for_longer(client: httpx.AsyncClient, database: Database) -> None:
    """What has no end by nature is not cut: the stream of news goes on beyond the time that a page waits."""
    async with client.stream("GET", "/events") as stream:
        lines = stream.aiter_lines()
        assert await anext(lines) == "retry: 1000"
        async with stalled(database, "channels"):
            assert (await client.get("/channels")).status_code == 503
        async with database.transaction() as connection:
            await feed.record(connection, "shop", AccountAdded(platform="telegram", standing="normal"))
        async with asyncio.timeout(PATIENCE):
            while '"account"' not in await anext(lines):  # the sign-in before it may still be told
                pass
