"""Somebody who listens to the live events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.waiting import PATIENCE, until
from tidegate.database.pool import Database
from tidegate.events.queries import feed
from tidegate.events.queries.feed import FeedCursor


@pytest.fixture
def looked_after_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether those who listen are still signed in is asked ten times a second, not every five seconds."""
    monkeypatch.setattr("tidegate.web.live.event_stream.LOOKED_AFTER_EVERY", 0.1)


@asynccontextmanager
async def listening(client: httpx.AsyncClient, **headers: str) -> AsyncIterator[AsyncIterator[tuple[str, Any]]]:
    """The messages of a stream, as a browser takes them: each id with its data."""

    async def messages(answer: httpx.Response) -> AsyncIterator[tuple[str, Any]]:
        place = ""
        async for line in answer.aiter_lines():
            if line.startswith("id: "):
                place = line.removeprefix("id: ")
            elif line.startswith("data: "):
                yield place, json.loads(line.removeprefix("data: "))

    async with asyncio.timeout(PATIENCE), client.stream("GET", "/events", headers=headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield messages(answer)


async def settled(database: Database) -> FeedCursor:
    """The newest event's place, once it can be told: that waits for every older transaction of the server."""

    async def is_told() -> bool:
        async with database.connection() as connection:
            return (await feed.latest(connection)).id == await connection.fetchval("SELECT max(id) FROM events")

    await until(is_told)
    async with database.connection() as connection:
        return await feed.latest(connection)
