"""Threads: how they are started, found while active, and paged through once archived."""

from __future__ import annotations

from datetime import timedelta

import discord
import pytest

from tests.held import NOON
from tests.loopback.bots import ask, first_bot, logged_in
from tidegate.loopback.discord import DiscordServer
from tidegate.loopback.discord.world import threads
from tidegate.loopback.discord.world.permissions import Overwrite, Permission
from tidegate.loopback.discord.world.places import HAS_THREAD, Channel, ChannelKind
from tidegate.loopback.faults import Fault, FaultKind


@pytest.fixture
def general(discord_server: DiscordServer) -> Channel:
    """A text channel."""
    return discord_server.world.channel("general")


def deny(channel: Channel, right: Permission) -> None:
    channel.overwrites = [Overwrite(channel.guild, member=False, allow=Permission(0), deny=right)]


class TestStarting:
    async def test_a_thread_from_a_message_shares_its_id(self, discord_server: DiscordServer, general: Channel) -> None:
        """H-39: the message is marked and carries the thread; the thread begins with a reference to it."""
        world = discord_server.world
        seed = world.post(general, "shall we?")
        thread = threads.start(world, general, "plans", text="yes", from_message=seed.id)
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(general.id)
            marked = await channel.fetch_message(seed.id)
            assert (marked.flags.has_thread, marked.flags.value & HAS_THREAD) == (True, HAS_THREAD)
            inside = await client.fetch_channel(thread.id)
            assert (inside.id, inside.parent_id, inside.message_count) == (seed.id, general.id, 2)
            kinds = [message.type async for message in inside.history(oldest_first=True)]
        assert kinds == [discord.MessageType.thread_starter_message, discord.MessageType.default]

    async def test_a_thread_beside_messages_is_announced(self, discord_server: DiscordServer, general: Channel) -> None:
        """By a message of kind 18 that names it; a private one is not."""
        world = discord_server.world
        thread = threads.start(world, general, "plans")
        threads.start(world, general, "secret", private=True)
        [row] = (await ask(discord_server, "GET", f"/channels/{general.id}/messages"))[1]
        assert (row["type"], row["content"], row["message_reference"]["channel_id"]) == (18, "plans", str(thread.id))
        assert thread.head == 0

    async def test_a_forum_post_is_a_thread_with_its_message(self, discord_server: DiscordServer) -> None:
        """H-42: its first message has the thread's id and does not count; a page has to start below it."""
        world = discord_server.world
        forum = world.add_channel(next(iter(world.guilds.values())), "ideas", ChannelKind.FORUM)
        post = threads.start(world, forum, "sails", text="red ones")
        world.post(post, "blue ones")
        world.delete(post, [post.head])
        path = f"/channels/{post.id}/messages"
        rows = (await ask(discord_server, "GET", path, params={"after": post.id - 1}))[1]
        assert [(row["id"], row["content"]) for row in rows] == [(str(post.id), "red ones")]
        assert (await ask(discord_server, "GET", path, params={"after": post.id}))[1] == []
        told = (await ask(discord_server, "GET", f"/channels/{post.id}"))[1]
        assert (told["message_count"], told["total_message_sent"]) == (0, 1)
        assert forum.head == post.id


class TestFinding:
    async def test_active_threads_are_one_call(self, discord_server: DiscordServer, general: Channel) -> None:
        """Those that may be seen: not archived ones, nor private ones of others unless threads may be managed."""
        world, bot = discord_server.world, first_bot(discord_server)
        guild = world.guilds[general.guild]
        made = {
            name: threads.start(world, general, name, private=name != "open") for name in ("open", "mine", "theirs")
        }
        world.archive(threads.start(world, general, "asleep"), archived=True)
        threads.join(world, made["mine"], bot)

        async def listed() -> list[str]:
            status, told, _ = await ask(discord_server, "GET", f"/guilds/{guild.id}/threads/active")
            assert status == 200
            assert [row["id"] for row in told["members"]] == [str(made["mine"].id)]
            return [row["name"] for row in told["threads"]]

        assert await listed() == ["theirs", "mine", "open"]
        deny(general, Permission.MANAGE_THREADS)
        assert await listed() == ["mine", "open"]
        status, told, _ = await ask(discord_server, "GET", f"/channels/{made['theirs'].id}/messages")
        assert (status, told["code"]) == (403, 50001)

    async def test_the_archive_is_paged_by_the_moment(self, discord_server: DiscordServer, general: Channel) -> None:
        """The latest archived first, with has_more; of several that share a moment a bound leaves out all."""
        world = discord_server.world
        for number in range(7):
            thread = threads.start(world, general, f"thread {number}")
            world.archive(thread, archived=True, at=NOON + timedelta(minutes=number // 2))
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(general.id)
            everything = [thread.name async for thread in channel.archived_threads(limit=None)]
            page = await client.http.get_public_archived_threads(general.id, before=None, limit=2)
        assert everything == [f"thread {number}" for number in reversed(range(7))]
        assert ([row["name"] for row in page["threads"]], page["has_more"]) == (everything[:2], True)
        before = page["threads"][-1]["thread_metadata"]["archive_timestamp"]
        path = f"/channels/{general.id}/threads/archived/public"
        rest = (await ask(discord_server, "GET", path, params={"before": before}))[1]
        assert [row["name"] for row in rest["threads"]] == everything[3:]
        world.faults.add(Fault(FaultKind.SHORT_PAGE, "GET /channels/{channel.id}/threads/archived/public"))
        short = (await ask(discord_server, "GET", path))[1]
        assert (len(short["threads"]), short["has_more"]) == (1, True)

    async def test_the_private_archive_needs_a_right(self, discord_server: DiscordServer, general: Channel) -> None:
        """H-41: 403 without it; those the bot is a member of it may list all the same."""
        world = discord_server.world
        mine, theirs = (threads.start(world, general, name, private=True) for name in ("mine", "theirs"))
        threads.join(world, mine, first_bot(discord_server))
        for thread in (mine, theirs):
            world.archive(thread, archived=True)
        path = f"/channels/{general.id}/threads/archived/private"
        own = f"/channels/{general.id}/users/@me/threads/archived/private"
        assert [row["name"] for row in (await ask(discord_server, "GET", path))[1]["threads"]] == ["theirs", "mine"]
        deny(general, Permission.MANAGE_THREADS)
        status, told, _ = await ask(discord_server, "GET", path)
        assert (status, told["code"]) == (403, 50001)
        assert [row["name"] for row in (await ask(discord_server, "GET", own))[1]["threads"]] == ["mine"]
        assert (await ask(discord_server, "GET", own, params={"before": mine.id}))[1]["threads"] == []

    async def test_a_bot_joins_a_thread(self, discord_server: DiscordServer, general: Channel) -> None:
        """And is a member from then on; an archived one cannot be joined."""
        world = discord_server.world
        thread = threads.start(world, general, "plans")
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(thread.id)
            assert channel.me is None
            await channel.join()
            assert (await client.fetch_channel(thread.id)).me.id == client.user.id
            world.archive(thread, archived=True)
            with pytest.raises(discord.HTTPException):
                await channel.join()
