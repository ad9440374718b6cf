"""Reading messages: search, history, by id, and the traps that lie between a page and the truth."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from telethon import TelegramClient, errors
from telethon.tl import functions, types

from tests.loopback.clients import peer
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.file_content import FileKind


async def search(client: TelegramClient, named: types.InputPeerChannel, **wanted: Any) -> Any:
    asked = {"offset_id": 0, "min_id": 0, "max_id": 0, "add_offset": 0, "limit": 100, "q": ""} | wanted
    filtered = asked.pop("filter", types.InputMessagesFilterDocument())
    return await client(
        functions.messages.SearchRequest(named, filter=filtered, min_date=None, max_date=None, hash=0, **asked)
    )


def ids(answer: Any) -> list[int]:
    return [message.id for message in answer.messages]


@pytest.fixture
def busy(telegram: TelegramServer) -> Channel:
    """A channel of 250 messages after its first; every fifth has a file, so files are 6, 11, 16 …"""
    world = telegram.world
    channel = world.add_channel("Busy")
    for number in range(2, 252):
        file = world.add_file(f"{number}.zip", 1000) if number % 5 == 1 else None
        world.post(channel, f"message {number}", file=file)
    return channel


class TestSearch:
    async def test_all_files_are_found_newest_first_down_to_the_bound(
        self, client: TelegramClient, telegram: TelegramServer, busy: Channel
    ) -> None:
        """Plan d of the facts: bounds are exclusive and pages meet without holes."""
        named = peer(telegram, busy)
        assert ids(await search(client, named, min_id=241)) == [251, 246]
        assert ids(await search(client, named, min_id=231, max_id=246)) == [241, 236]
        found, offset = [], 0
        for _ in range(6):
            page = ids(await search(client, named, offset_id=offset, min_id=101, limit=7))
            found += page
            offset = page[-1] if page else offset
        assert found == list(range(251, 101, -5))

    async def test_a_short_page_is_not_the_end(
        self, client: TelegramClient, telegram: TelegramServer, busy: Channel
    ) -> None:
        """S-26: the platform may give 37 where 100 were asked, and there is more."""
        telegram.world.faults.add(Fault(FaultKind.SHORT_PAGE, "messages.search"))
        answer = await search(client, peer(telegram, busy))
        assert (len(answer.messages), answer.count) == (37, 50)

    async def test_fresh_files_can_lag_behind(
        self, client: TelegramClient, telegram: TelegramServer, busy: Channel
    ) -> None:
        """S-29: what was just posted is missing from one answer and in the next."""
        world = telegram.world
        old = world.clock.now() - timedelta(minutes=10)
        for message in busy.messages.values():
            message.date = old
        fresh = world.post(busy, file=world.add_file("fresh.zip", 1))
        world.faults.add(Fault(FaultKind.SEARCH_LAG, "messages.search", seconds=30))
        lagging = await search(client, peer(telegram, busy), min_id=245)
        caught_up = await search(client, peer(telegram, busy), min_id=245)
        assert ids(lagging) == [251, 246]
        assert ids(caught_up) == [fresh.id, 251, 246]

    async def test_a_filter_sees_its_own_kind(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """A search for documents leaves out what is shown as photo, video or sound."""
        world = telegram.world
        channel = world.add_channel("Media")
        for kind in FileKind:
            world.post(channel, file=world.add_file(f"x.{kind.value}", 10, kind=kind))
        named = peer(telegram, channel)
        assert ids(await search(client, named)) == [2]
        assert ids(await search(client, named, filter=types.InputMessagesFilterPhotos())) == [3]
        assert ids(await search(client, named, filter=types.InputMessagesFilterVideo())) == [4]
        assert ids(await search(client, named, filter=types.InputMessagesFilterMusic())) == [5]

    async def test_one_topic_can_be_searched(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """With top_msg_id only that topic's files are found, and the reply tells the topic in short form."""
        world = telegram.world
        forum = world.add_channel("Forum", forum=True)
        one, two = world.add_topic(forum, "one"), world.add_topic(forum, "two")
        file = world.post(forum, topic=one.id, file=world.add_file("a.zip", 1))
        world.post(forum, topic=two.id, file=world.add_file("b.zip", 1))
        answer = await search(client, peer(telegram, forum), top_msg_id=one.id)
        assert ids(answer) == [file.id]
        assert [(topic.id, topic.short, topic.top_message) for topic in answer.topics] == [(one.id, True, 0)]

    async def test_words_and_file_names_are_found(
        self, client: TelegramClient, telegram: TelegramServer, busy: Channel
    ) -> None:
        """Words are looked for in text and file names alike, whatever their case."""
        every = types.InputMessagesFilterEmpty()
        assert ids(await search(client, peer(telegram, busy), q="MESSAGE 77", filter=every)) == [77]
        assert ids(await search(client, peer(telegram, busy), q="246.zip")) == [246]


class TestHistory:
    async def test_250_messages_cost_three_calls(
        self, client: TelegramClient, telegram: TelegramServer, busy: Channel
    ) -> None:
        """Telethon's own walk over history reads every message once."""
        before = telegram.world.record.by_method()["messages.getHistory"]
        found = [message.id async for message in client.iter_messages(peer(telegram, busy), limit=250)]
        assert found == list(range(251, 1, -1))
        assert telegram.world.record.by_method()["messages.getHistory"] == before + 3

    async def test_a_negative_offset_reads_upwards(
        self, client: TelegramClient, telegram: TelegramServer, busy: Channel
    ) -> None:
        """From the oldest on, as Telethon does it with add_offset."""
        found = [m.id async for m in client.iter_messages(peer(telegram, busy), limit=5, reverse=True, min_id=100)]
        assert found == [101, 102, 103, 104, 105]

    async def test_replies_are_one_topic_without_its_root(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """What Telethon's reply_to= asks is answered too, so that a test can show what it costs."""
        world = telegram.world
        forum = world.add_channel("Forum", forum=True)
        topic = world.add_topic(forum, "one")
        message = world.post(forum, "hello", topic=topic.id)
        world.post(forum, "elsewhere")
        found = [m.id async for m in client.iter_messages(peer(telegram, forum), reply_to=topic.id)]
        assert found == [message.id]


class TestById:
    async def test_what_is_gone_is_an_empty_message(
        self, client: TelegramClient, telegram: TelegramServer, busy: Channel
    ) -> None:
        """S-37 and S-39: a hundred a call, in the order asked; a deleted one is told as empty."""
        telegram.world.delete(busy, [6])
        named = peer(telegram, busy)
        channel = types.InputChannel(named.channel_id, named.access_hash)
        asked = [types.InputMessageID(number) for number in (11, 6, 251)]
        answer = await client(functions.channels.GetMessagesRequest(channel, asked))
        assert ids(answer) == [11, 6, 251]
        assert [isinstance(message, types.MessageEmpty) for message in answer.messages] == [False, True, False]
        with pytest.raises(errors.RPCError):
            await client(
                functions.channels.GetMessagesRequest(channel, [types.InputMessageID(n) for n in range(1, 102)])
            )
