"""The loopback Discord as hikari reads it, a library that shares no code with discord.py."""

from __future__ import annotations

from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Any

import hikari
import httpx
import pytest

from tests.loopback.other_clients.comparison import differences, facts_as_read, facts_in_truth, never_told
from tests.loopback.other_clients.conftest import Control
from tests.loopback.other_clients.discord_facts import DISCORD
from tests.loopback.other_clients.hikari_client import connected
from tidegate.loopback.discord import DiscordServer

CHANNEL, FORUM, THREAD, POST = "general", "ideas", "Repairs", "Better sails"
PLACES = (CHANNEL, THREAD, POST)

WORLD: dict[str, Any] = {
    "guilds": [
        {
            "name": "Harbour",
            "channels": [
                {"name": CHANNEL, "messages": 230, "threads": [{"name": THREAD, "messages": 120}]},
                {"name": FORUM, "kind": "forum", "threads": [{"name": POST, "messages": 3}]},
            ],
        }
    ],
}

WORLD_OF_KINDS: dict[str, Any] = {"guilds": [{"name": "Harbour", "channels": [{"name": CHANNEL, "kinds": True}]}]}

POSTS: list[dict[str, Any]] = [
    {"text": "plain"},
    {"text": "Ελληνικά, עברית 🚢 and\nlines\n", "author": "Grace"},
    {"text": "a file", "files": [{"name": "the boat.txt", "size": 3000}, {"name": "Überfahrt 🚢.bin", "size": 0}]},
    {"text": "pinned", "kind": 6},
]


@pytest.fixture
async def control(discord_server: DiscordServer, asking: httpx.AsyncClient) -> AsyncIterator[Control]:
    """A server with a channel, a forum and threads; a path it does not know fails the test."""
    control = Control(asking, "discord")
    await control.make(**WORLD)
    yield control
    assert await control.unknown() == []


async def one(control: Control, place: str, number: int) -> list[dict[str, Any]]:
    """The truth about one message."""
    return [message for message in await control.truth(place) if message["id"] == number]


class TestReading:
    @pytest.mark.parametrize("place", PLACES)
    async def test_a_history_is_read_whole(self, control: Control, discord_server: DiscordServer, place: str) -> None:
        """Every message with every fact of the table, after posts, edits, reactions and deletions; nothing twice."""
        first = (await control.truth(place))[0]["id"]
        for post in POSTS:
            await control.post(channel=place, **post)
        await control.post(channel=place, text="an answer", reply_to=first)
        [edited, deleted] = await control.post(channel=place, count=2, text="soon another")
        await control.edit(channel=place, id=edited, text="changed")
        await control.delete(channel=place, ids=[deleted])
        await control.change(channel=place, message=edited, user="Grace", reaction_added="🚢")
        async with connected(discord_server) as client:
            number = discord_server.world.channel(place).id
            read = [message async for message in client.rest.fetch_messages(number)]
        truth = await control.truth(place)
        assert len(truth) > len(POSTS)
        assert facts_as_read(DISCORD, read) == facts_in_truth(DISCORD, truth)

    async def test_files_are_downloaded_byte_by_byte(self, control: Control, discord_server: DiscordServer) -> None:
        """The link that comes with a message gives the bytes that the platform holds."""
        [number] = await control.post(channel=CHANNEL, **POSTS[2])
        async with connected(discord_server) as client:
            message = await client.rest.fetch_message(discord_server.world.channel(CHANNEL).id, number)
            digests = [sha256(await file.read()).hexdigest() for file in message.attachments]
        assert digests == [file["sha256"] for file in (await one(control, CHANNEL, number))[0]["files"]]

    async def test_channels_and_threads_are_found(self, control: Control, discord_server: DiscordServer) -> None:
        """By REST and with the server's event, with the kinds that Discord gives them."""
        world = discord_server.world
        [guild] = world.guilds.values()
        async with connected(discord_server) as client:
            channels = await client.rest.fetch_guild_channels(guild.id)
            threads = await client.rest.fetch_active_threads(guild.id)
            cached = client.cache.get_guild_channels_view_for_guild(guild.id)
        kinds = {channel.name: channel.type for channel in channels}
        assert kinds == {CHANNEL: hikari.ChannelType.GUILD_TEXT, FORUM: hikari.ChannelType.GUILD_FORUM}
        assert {channel.name for channel in cached.values()} == set(kinds)
        assert {thread.name: int(thread.parent_id) for thread in threads} == {
            THREAD: world.channel(CHANNEL).id,
            POST: world.channel(FORUM).id,
        }


class TestKinds:
    async def test_a_message_of_every_kind_is_read(self, control: Control, discord_server: DiscordServer) -> None:
        """Each kind with every fact of the table, also after reactions, votes, a pin and a reply."""
        await control.make(**WORLD_OF_KINDS)
        held = await control.truth(CHANNEL)
        poll = next(message["id"] for message in held if message["poll"] and not message["poll"]["finalized"])
        await control.act("vote", channel=CHANNEL, message=poll, user="Grace", answer=2)
        await control.act("react", channel=CHANNEL, message=held[0]["id"], user="Grace", emoji="🚢")
        await control.act("pin", channel=CHANNEL, message=held[0]["id"])
        await control.post(channel=CHANNEL, text="an answer", reply_to=held[0]["id"])
        async with connected(discord_server) as client:
            number = discord_server.world.channel(CHANNEL).id
            read = [message async for message in client.rest.fetch_messages(number)]
        truth = await control.truth(CHANNEL)
        assert len(truth) > len(await control.kinds())
        facts = facts_in_truth(DISCORD, truth)
        assert differences(facts, facts_as_read(DISCORD, read)) == []
        assert never_told(facts) == set()


class TestPushes:
    @pytest.mark.parametrize("place", PLACES)
    async def test_a_post_an_edit_and_a_deletion_are_pushed(
        self, control: Control, discord_server: DiscordServer, place: str
    ) -> None:
        """A client that only listens learns the same facts as one that reads the history."""
        async with connected(discord_server) as client:
            for post in POSTS:
                [number] = await control.post(channel=place, **post)
                posted = await client.next_event(hikari.GuildMessageCreateEvent)
                truth = await one(control, place, number)
                assert facts_as_read(DISCORD, [posted.message]) == facts_in_truth(DISCORD, truth)
            await control.edit(channel=place, id=number, text="changed")
            edited = await client.next_event(hikari.GuildMessageUpdateEvent)
            truth = await one(control, place, number)
            assert facts_as_read(DISCORD, [edited.message]) == facts_in_truth(DISCORD, truth)
            await control.delete(channel=place, ids=[number])
            assert (await client.next_event(hikari.GuildMessageDeleteEvent)).message_id == number

    async def test_an_answer_brings_what_it_answers(self, control: Control, discord_server: DiscordServer) -> None:
        """The message that was answered comes along, and is nothing once it was deleted."""
        [first] = await control.post(channel=CHANNEL, text="a question")
        async with connected(discord_server) as client:
            await control.post(channel=CHANNEL, text="an answer", reply_to=first)
            answer = (await client.next_event(hikari.GuildMessageCreateEvent)).message
            assert answer.referenced_message
            assert (answer.referenced_message.id, answer.referenced_message.content) == (first, "a question")
            await control.delete(channel=CHANNEL, ids=[first])
            read = await client.rest.fetch_message(answer.channel_id, answer.id)
            assert (read.message_reference.id, read.referenced_message) == (first, None)

    async def test_reactions_threads_and_bulk_deletions_are_pushed(
        self, control: Control, discord_server: DiscordServer
    ) -> None:
        """What changes around a message is pushed in the form another library expects."""
        numbers = await control.post(channel=CHANNEL, count=2, text="soon gone")
        async with connected(discord_server) as client:
            await control.change(channel=CHANNEL, message=numbers[0], user="Grace", reaction_added="🚢")
            reaction = await client.next_event(hikari.GuildReactionAddEvent)
            assert (reaction.message_id, reaction.emoji_name) == (numbers[0], "🚢")
            told = await control.change(channel=CHANNEL, new_thread={"name": "Ropes", "text": "which?"})
            thread = await client.next_event(hikari.GuildThreadCreateEvent)
            assert (thread.thread_id, thread.thread.name) == (told["thread"], "Ropes")
            await control.delete(channel=CHANNEL, ids=numbers)
            assert (await client.next_event(hikari.GuildBulkMessageDeleteEvent)).message_ids == set(numbers)

    async def test_a_lost_connection_is_resumed(self, control: Control, discord_server: DiscordServer) -> None:
        """Nothing that was pushed meanwhile is missing, and the client signs in only once."""
        async with connected(discord_server) as client:
            await control.change(disconnect=True)
            [number] = await control.post(channel=CHANNEL, text="meanwhile")
            assert (await client.next_event(hikari.GuildMessageCreateEvent)).message_id == number
        assert discord_server.world.record.by_method()["gateway identify"] == 1
