"""What an account sees: dialogs, the gate, topics, and the difference since it last looked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from telethon import TelegramClient, errors, events
from telethon.tl import functions, types

from tests.loopback.clients import gate, peer
from tests.loopback.conftest import Connects
from tests.waiting import PATIENCE
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram.world.channels import Channel


def make_forum(telegram: TelegramServer, topics: int) -> Channel:
    forum = telegram.world.add_channel("Models", forum=True)
    for number in range(topics):
        telegram.world.add_topic(forum, f"Topic {number}")
    return forum


async def difference(client: TelegramClient, named: types.InputPeerChannel, pts: int, limit: int = 100) -> Any:
    return await client(
        functions.updates.GetChannelDifferenceRequest(
            types.InputChannel(named.channel_id, named.access_hash),
            types.ChannelMessagesFilterEmpty(),
            pts,
            limit,
        )
    )


class TestDialogs:
    async def test_every_channel_is_listed_once_over_pages(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """Pages of dialogs meet without holes; those in the archive folder are listed there alone."""
        for number in range(7):
            telegram.world.add_channel(f"Channel {number}")
        telegram.world.channel("Channel 3").archived = True
        found = [dialog.title async for dialog in client.iter_dialogs(archived=False)]
        assert sorted(found) == [f"Channel {number}" for number in range(7) if number != 3]
        assert [dialog.title async for dialog in client.iter_dialogs(archived=True)] == ["Channel 3"]

    async def test_dialogs_come_in_pages_of_the_platforms_size(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """A limit is a wish; nothing is lost or listed twice at a smaller page."""
        telegram.world.limits.page = 3
        for number in range(10):
            telegram.world.add_channel(f"Channel {number}")
        found, offset = [], (None, 0, types.InputPeerEmpty())
        for _ in range(4):
            answer = await client(functions.messages.GetDialogsRequest(*offset, limit=100, hash=0))
            found += [chat.title for chat in answer.chats]
            last = answer.messages[-1]
            offset = (last.date, last.id, peer(telegram, telegram.world.channels[last.peer_id.channel_id]))
        assert sorted(found) == [f"Channel {number}" for number in range(10)]

    async def test_a_hash_of_another_account_opens_nothing(self, connect: Connects, telegram: TelegramServer) -> None:
        """Access hashes belong to one account; a lane that mixes them up is refused."""
        other = telegram.world.add_account("+1000002")
        channel = telegram.world.add_channel("Models")
        client = await connect()
        with pytest.raises(errors.ChannelInvalidError):
            await gate(client, peer(telegram, channel, other.id))

    async def test_a_channel_can_be_asked_for_by_name(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """The fallback for the forum flag: channels by id, with what may be done with them."""
        channel = telegram.world.add_channel("Models", forum=True)
        channel.protected = True
        named = peer(telegram, channel)
        asked = [types.InputChannel(named.channel_id, named.access_hash)]
        [chat] = (await client(functions.channels.GetChannelsRequest(asked))).chats
        assert (chat.title, chat.forum, chat.noforwards) == ("Models", True, True)

    async def test_a_channel_that_was_left_is_private(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """Who is no member reads nothing, and is told so by name."""
        channel = telegram.world.add_channel("Models")
        channel.members.clear()
        with pytest.raises(errors.ChannelPrivateError):
            await gate(client, peer(telegram, channel))


class TestGate:
    async def test_it_tells_of_every_post_edit_and_deletion(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """The pts moves with each change and stands still without one; the top goes down with a deletion (S-18)."""
        world = telegram.world
        channel = world.add_channel("Models")
        named = peer(telegram, channel)
        seen = []

        async def look() -> None:
            answer = await gate(client, named)
            seen.append((answer.dialogs[0].pts, answer.dialogs[0].top_message))

        await look()
        await look()
        first, second = world.post(channel, "one"), world.post(channel, "two")
        await look()
        world.edit(channel, first.id, text="uno")
        await look()
        world.delete(channel, [second.id])
        await look()
        assert seen == [(2, 1), (2, 1), (4, 3), (5, 3), (6, 2)]

    async def test_it_takes_a_hundred_channels_and_tells_their_forum_flag(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """One call for many channels is what the plan rests on; one too many is refused."""
        channels = [telegram.world.add_channel(f"{n}", forum=n % 2 == 0) for n in range(101)]
        peers = [peer(telegram, channel) for channel in channels]
        answer = await gate(client, *peers[:100])
        flags = {chat.title: bool(chat.forum) for chat in answer.chats}
        assert flags == {f"{n}": n % 2 == 0 for n in range(100)}
        with pytest.raises(errors.RPCError):
            await gate(client, *peers)

    async def test_a_row_can_be_missing_and_an_answer_stale(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """S-11 and S-74: the faults the mirror has to survive."""
        world = telegram.world
        one, two = world.add_channel("one"), world.add_channel("two")
        named = [peer(telegram, one), peer(telegram, two)]
        await gate(client, *named)
        world.faults.add(Fault(FaultKind.MISSING_ROW, "messages.getPeerDialogs", channel=two.id))
        answer = await gate(client, *named)
        assert [dialog.peer.channel_id for dialog in answer.dialogs] == [one.id]
        world.post(one, "news")
        world.faults.add(Fault(FaultKind.STALE, "messages.getPeerDialogs"))
        stale = await gate(client, *named)
        fresh = await gate(client, *named)
        assert [answer.dialogs[0].pts for answer in (stale, fresh)] == [2, 3]


class TestTopics:
    async def test_all_topics_are_found_though_pages_are_short(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """S-69: 250 topics in pages of the platform's own size, pinned ones first, none twice."""
        forum = make_forum(telegram, 250)
        forum.topics[5].pinned = True
        telegram.world.faults.add(Fault(FaultKind.SHORT_PAGE, "messages.getForumTopics", count=2))
        found, pages, last = [], [], (0, 0)
        while not pages or pages[-1]:
            answer = await client(
                functions.messages.GetForumTopicsRequest(peer(telegram, forum), None, last[0], last[1], 100)
            )
            pages.append(len(answer.topics))
            found += [topic.id for topic in answer.topics]
            if answer.topics:
                last = (answer.topics[-1].top_message, answer.topics[-1].id)
        assert found[0] == 5
        assert sorted(found) == sorted(forum.topics)
        assert pages == [37, 37, 100, 77, 0]

    async def test_a_page_may_end_among_the_pinned(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """S-70: the rest of the pinned topics follow, then the others."""
        forum = make_forum(telegram, 6)
        for number in (2, 3, 4):
            forum.topics[number].pinned = True
        telegram.world.limits.page = 2
        found, last = [], (0, 0)
        for _ in range(4):
            answer = await client(
                functions.messages.GetForumTopicsRequest(peer(telegram, forum), None, last[0], last[1], 100)
            )
            found += [topic.id for topic in answer.topics]
            last = (answer.topics[-1].top_message, answer.topics[-1].id) if answer.topics else last
        assert found == [4, 3, 2, 7, 6, 5, 1]

    async def test_the_list_follows_the_newest_message(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """An active topic comes first; where a forum is ordered by age, it does not."""
        forum = make_forum(telegram, 3)
        telegram.world.post(forum, "hello", topic=2)
        request = functions.messages.GetForumTopicsRequest(peer(telegram, forum), None, 0, 0, 100)
        assert [topic.id for topic in (await client(request)).topics] == [2, 4, 3, 1]
        forum.by_create_date = True
        answer = await client(request)
        assert answer.order_by_create_date
        assert [topic.id for topic in answer.topics] == [4, 3, 2, 1]

    async def test_a_deleted_topic_is_a_row_with_an_id(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """S-65 and S-71: its messages are gone, and lists and questions by id show nothing but the id."""
        forum = make_forum(telegram, 2)
        message = telegram.world.post(forum, "in it", topic=3)
        telegram.world.delete_topic(forum, 3)
        assert message.id not in forum.messages
        listed = await client(functions.messages.GetForumTopicsRequest(peer(telegram, forum), None, 0, 0, 100))
        asked = await client(functions.messages.GetForumTopicsByIDRequest(peer(telegram, forum), [2, 3, 99]))
        assert types.ForumTopicDeleted(3) in listed.topics
        assert [type(topic) for topic in asked.topics] == [
            types.ForumTopic,
            types.ForumTopicDeleted,
            types.ForumTopicDeleted,
        ]

    async def test_the_message_of_the_last_row_can_be_missing(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """Paging by the date of a message that is not there has to find another way."""
        forum = make_forum(telegram, 2)
        telegram.world.faults.add(Fault(FaultKind.MISSING_ROW, "messages.getForumTopics"))
        answer = await client(functions.messages.GetForumTopicsRequest(peer(telegram, forum), None, 0, 0, 100))
        assert [len(answer.topics), len(answer.messages)] == [3, 2]

    async def test_a_flat_channel_has_no_topics(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """Forum mode can be switched off, and then the question itself is refused."""
        channel = telegram.world.add_channel("Flat")
        with pytest.raises(errors.ChannelForumMissingError):
            await client(functions.messages.GetForumTopicsRequest(peer(telegram, channel), None, 0, 0, 100))


class TestDifference:
    async def test_it_tells_what_happened_and_says_when_that_was_all(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """S-16, S-32 and S-33: news, edits and deletions in order of their pts, in pages with an explicit end."""
        world = telegram.world
        channel = world.add_channel("Models")
        kept = world.post(channel, "old")
        gone = world.post(channel, "to be deleted")
        start = channel.pts
        for number in range(120):
            world.post(channel, f"new {number}")
        world.edit(channel, kept.id, text="edited")
        world.delete(channel, [gone.id])
        first = await difference(client, peer(telegram, channel), start)
        second = await difference(client, peer(telegram, channel), first.pts)
        third = await difference(client, peer(telegram, channel), second.pts)
        assert [len(first.new_messages), bool(first.final)] == [100, False]
        assert [len(second.new_messages), bool(second.final)] == [20, True]
        assert [type(update) for update in second.other_updates] == [
            types.UpdateEditChannelMessage,
            types.UpdateDeleteChannelMessages,
        ]
        assert second.other_updates[1].messages == [gone.id]
        assert isinstance(third, types.updates.ChannelDifferenceEmpty)
        assert third.pts == channel.pts

    async def test_what_came_and_went_is_not_told(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """A message posted and removed since the last look leaves a step of the count and nothing else."""
        world = telegram.world
        channel = world.add_channel("Models")
        start = channel.pts
        world.delete(channel, [world.post(channel, "oops").id])
        answer = await difference(client, peer(telegram, channel), start)
        assert (answer.new_messages, answer.other_updates, answer.pts) == ([], [], start + 2)

    async def test_it_is_too_long_below_what_the_platform_remembers(
        self, client: TelegramClient, telegram: TelegramServer
    ) -> None:
        """S-31: it carries the newest messages and the dialog, whose pts is the place to go on from."""
        world = telegram.world
        channel = world.add_channel("Models")
        for number in range(50):
            world.post(channel, f"{number}")
        world.forget_events(channel)
        answer = await difference(client, peer(telegram, channel), 2)
        assert isinstance(answer, types.updates.ChannelDifferenceTooLong)
        assert answer.dialog.pts == channel.pts
        assert [message.id for message in answer.messages] == list(range(51, 31, -1))
        world.faults.add(Fault(FaultKind.TOO_LONG, "updates.getChannelDifference"))
        assert isinstance(
            await difference(client, peer(telegram, channel), channel.pts), types.updates.ChannelDifferenceTooLong
        )

    async def test_a_count_that_cannot_be_is_refused(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """Neither nothing nor the future is a place to go on from."""
        channel = telegram.world.add_channel("Models")
        with pytest.raises(errors.PersistentTimestampEmptyError):
            await difference(client, peer(telegram, channel), 0)
        with pytest.raises(errors.PersistentTimestampInvalidError):
            await difference(client, peer(telegram, channel), 99)

    async def test_topics_are_learned_from_it(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """S-63, S-64 and S-68: made, renamed, and which topic a message is in, all by service messages and headers."""
        world = telegram.world
        forum = world.add_channel("Models", forum=True)
        start = forum.pts
        topic = world.add_topic(forum, "Dragons")
        posted = world.post(forum, "first", topic=topic.id)
        world.post(forum, "reply", topic=topic.id, reply_to=posted.id)
        world.post(forum, "in General")
        world.rename_topic(forum, topic.id, "Drakes")
        made, first, reply, general, renamed = (await difference(client, peer(telegram, forum), start)).new_messages
        assert (made.id, made.action.title) == (topic.id, "Dragons")
        assert (first.reply_to.forum_topic, first.reply_to.reply_to_msg_id) == (True, topic.id)
        assert (reply.reply_to.reply_to_msg_id, reply.reply_to.reply_to_top_id) == (posted.id, topic.id)
        assert general.reply_to is None
        assert (renamed.action.title, renamed.reply_to.reply_to_msg_id) == ("Drakes", topic.id)


class TestLive:
    async def test_news_edits_and_deletions_are_pushed(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """A connected member hears of each change without asking."""
        heard: asyncio.Queue[str] = asyncio.Queue()

        async def hear(event: Any) -> None:
            await heard.put(type(event).__qualname__)

        for kind in (events.NewMessage(), events.MessageEdited(), events.MessageDeleted()):
            client.add_event_handler(hear, kind)
        world = telegram.world
        channel = world.add_channel("Models")
        await gate(client, peer(telegram, channel))
        message = world.post(channel, "hello")
        assert await asyncio.wait_for(heard.get(), PATIENCE) == "NewMessage.Event"
        world.edit(channel, message.id, text="hallo")
        assert await asyncio.wait_for(heard.get(), PATIENCE) == "MessageEdited.Event"
        world.delete(channel, [message.id])
        assert await asyncio.wait_for(heard.get(), PATIENCE) == "MessageDeleted.Event"

    async def test_a_large_group_may_be_silent(self, client: TelegramClient, telegram: TelegramServer) -> None:
        """Pushes are hints: a channel can change without one, and the gate still tells."""
        world = telegram.world
        silent, loud = world.add_channel("silent"), world.add_channel("loud")
        silent.pushes = False
        heard: asyncio.Queue[str] = asyncio.Queue()

        async def hear(event: Any) -> None:
            await heard.put(event.message.message)

        client.add_event_handler(hear, events.NewMessage(func=lambda event: event.message.message))
        before = (await gate(client, peer(telegram, silent))).dialogs[0].pts
        world.post(silent, "unheard")
        world.post(loud, "heard")
        assert await asyncio.wait_for(heard.get(), PATIENCE) == "heard"
        assert (await gate(client, peer(telegram, silent))).dialogs[0].pts == before + 1
