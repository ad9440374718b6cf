"""An open chat is told which of its messages changed, and reads only those."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.held import NOON
from tests.history.rich_messages import ADA, wrote
from tests.scans.stored_channels import add_account, add_channel
from tests.waiting import PATIENCE
from tests.web.chat_channel import harbour, store
from tests.web.visiting import sign_in, visiting
from tidegate.access.queries import page_sessions
from tidegate.access.queries.page_sessions import SessionSpan
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import MessageId
from tidegate.database.pool import Database
from tidegate.history.queries import deletions, message_patches
from tidegate.platforms.interface import Reacted, Voted
from tidegate.web.live.event_stream import EventStream

__all__ = ["harbour"]  # a fixture

LARGE = 1_100_000_000_000_000_123
"""A number of Discord, which a browser's own numbers cannot hold."""


class Chat:
    """An open chat, as a browser hears it."""

    def __init__(self, stream: AsyncIterator[bytes]) -> None:
        self._stream = stream

    async def told(self) -> dict[str, Any]:
        """The next thing that it is told of its messages."""
        async with asyncio.timeout(PATIENCE):
            async for message in self._stream:
                if message.startswith(b"event: messages\n"):
                    told: dict[str, Any] = json.loads(message.split(b"data: ")[1])
                    return told
        raise AssertionError("the stream ended")

    async def ids(self, wanted: set[int]) -> None:
        """Listen until all of *wanted* were told."""
        heard: set[int] = set()
        while not wanted <= heard:
            heard |= {int(one) for one in (await self.told())["ids"]}


@pytest.fixture
async def news(database: Database) -> AsyncIterator[EventStream]:
    made = EventStream(database)
    yield made
    made.close()


@asynccontextmanager
async def opened(database: Database, news: EventStream, kept: KnownChannel) -> AsyncIterator[Chat]:
    async with database.transaction() as connection:
        span = SessionSpan(timedelta(days=1), timedelta(days=90))
        secret = await page_sessions.begin_session(connection, "127.0.0.1", span)
    async with aclosing(news.stream(secret, chat=kept.key)) as stream:
        assert await anext(stream) == b"retry: 1000\n\n"
        yield Chat(stream)


async def test_a_chat_is_told_of_every_change(database: Database, news: EventStream, harbour: KnownChannel) -> None:
    """Posts, edits, reactions, votes and deletions, by their numbers as texts; nothing is recorded in the feed."""
    async with database.transaction() as connection:
        await store(connection, harbour, *(wrote(n, ADA, "x", at=NOON) for n in (1, 2, 3, LARGE)))
    async with opened(database, news, harbour) as chat:
        assert await chat.told() == {"ids": [], "all": True}  # what changed before it listened is not known
        async with database.transaction() as connection:
            await store(connection, harbour, replace(wrote(1, ADA, "y"), edited_at=NOON), wrote(4, ADA, "new"))
        await chat.ids({1, 4})
        async with database.transaction() as connection:
            await message_patches.react(connection, harbour.key, [Reacted(MessageId(2), "👍", 1)])
            await message_patches.vote(connection, harbour.key, [Voted(MessageId(3), "a", 1)])
            await deletions.mark_deleted(connection, harbour.key, [MessageId(LARGE)])
        await chat.ids({2, 3, LARGE})


async def test_a_chat_hears_of_its_own_channel_alone(
    database: Database, news: EventStream, harbour: KnownChannel
) -> None:
    """What happens elsewhere costs it nothing; what changes nothing is not told."""
    async with database.transaction() as connection:
        other = await add_channel(connection, await add_account(connection, "other"), 8)
    async with opened(database, news, harbour) as chat:
        await chat.told()
        async with database.transaction() as connection:
            await store(connection, harbour, wrote(1, ADA, "x"))
        await chat.ids({1})
        async with database.transaction() as connection:
            await store(connection, other, wrote(5, ADA, "elsewhere"))
            await store(connection, harbour, wrote(1, ADA, "x"))
        async with database.transaction() as connection:
            await store(connection, harbour, wrote(2, ADA, "here"))
        assert await chat.told() == {"ids": ["2"], "all": False}


async def test_a_chat_that_opens_is_told_what_changed_since_its_page_was_made(
    database: Database, news: EventStream, harbour: KnownChannel
) -> None:
    """Between making the page and listening nothing is lost."""
    async with opened(database, news, harbour) as first:
        await first.told()
        async with database.transaction() as connection:
            await store(connection, harbour, wrote(7, ADA, "x"))
        await first.ids({7})
        async with opened(database, news, harbour) as second:
            assert await second.told() == {"ids": ["7"], "all": False}


async def test_very_much_is_told_as_all(database: Database, news: EventStream, harbour: KnownChannel) -> None:
    """More than a notification can name."""
    async with opened(database, news, harbour) as chat:
        await chat.told()
        async with database.transaction() as connection:
            await store(connection, harbour, *(wrote(LARGE + n, ADA, "x", at=NOON) for n in range(500)))
        assert await chat.told() == {"ids": [], "all": True}


async def test_what_is_undone_is_not_told(database: Database, news: EventStream, harbour: KnownChannel) -> None:
    """A transaction that fails changed nothing."""
    async with opened(database, news, harbour) as chat:
        await chat.told()
        with suppress(ZeroDivisionError):
            async with database.transaction() as connection:
                await store(connection, harbour, wrote(1, ADA, "x"))
                raise ZeroDivisionError
        async with database.transaction() as connection:
            await store(connection, harbour, wrote(2, ADA, "x"))
        assert await chat.told() == {"ids": ["2"], "all": False}


async def test_some_messages_without_their_page(database: Database, harbour: KnownChannel) -> None:
    """By their numbers or from one on, and none that is not stored; what is no list of numbers is refused."""
    async with database.transaction() as connection:
        await store(connection, harbour, *(wrote(n, ADA, f"message {n}") for n in range(1, 100)))
    async with visiting(database) as client:
        await sign_in(client, database)
        at = f"/channels/{harbour.key}/messages/part"
        some = (await client.get(at, params={"ids": "5,3,500"})).text
        assert [n for n in range(1, 100) if f'id="m{n}"' in some] == [3, 5]
        assert "<html" not in some
        newest = (await client.get(at, params={"since": 10})).text
        assert [n for n in range(1, 100) if f'id="m{n}"' in newest] == list(range(10, 70))
        assert "?since=70#start" in newest
        for wrong in ("x", "5,", f"{10**19}", "-1"):
            assert (await client.get(at, params={"ids": wrong})).status_code == 422, wrong
