"""Writing over REST: messages, nonces, files, edits, deletions and reactions, and who may do it."""

from __future__ import annotations

import io
from datetime import timedelta

import aiohttp
import discord
import pytest

from tests.held import NOON
from tests.loopback.bots import ask, connected, first_bot, logged_in
from tidegate.core.clock import HeldClock
from tidegate.loopback.discord import DiscordServer, World
from tidegate.loopback.discord.world import threads
from tidegate.loopback.discord.world.permissions import Overwrite, Permission
from tidegate.loopback.discord.world.places import Channel


@pytest.fixture
def general(discord_server: DiscordServer) -> Channel:
    """The channel everybody may write to."""
    return discord_server.world.channel("general")


class TestMessages:
    async def test_a_message_is_told_to_everybody(self, discord_server: DiscordServer, general: Channel) -> None:
        """The sender hears of it too, and it is in the truth and on the record."""
        async with connected(discord_server) as client:
            channel = client.get_channel(general.id)
            sent = await channel.send("hello")
            answer = await sent.reply("and again")
            heard = await client.until("message", 2)
            assert [message.id for message in heard] == [sent.id, answer.id]
            assert answer.reference.resolved.content == "hello"
        assert [message.text for message in general.history] == ["hello", "and again"]
        assert [sent.account for sent in discord_server.world.record.sends] == ["Tidebot"] * 2

    async def test_an_enforced_nonce_makes_one_message_while_it_is_remembered(self) -> None:
        """The first message comes back, also when the text differs; later the same nonce makes another."""
        clock = HeldClock(NOON)
        world = World(clock)
        world.add_bot("Tidebot")
        general = world.add_channel(world.add_guild("Harbour"), "general")
        server = DiscordServer(world, clock)
        await server.start()
        path = f"/channels/{general.id}/messages"

        async def send(text: str, **more: object) -> str:
            status, told, _ = await ask(server, "POST", path, json={"content": text, "nonce": "n", **more})
            assert (status, told["nonce"]) == (200, "n")
            return str(told["id"])

        first = await send("one", enforce_nonce=True)
        assert await send("two", enforce_nonce=True) == first
        assert await send("three") != first
        world.delete(general, [message.id for message in general.history])
        first = await send("four", enforce_nonce=True)
        await clock.advance(timedelta(seconds=world.limits.nonce_s + 1))
        assert await send("five", enforce_nonce=True) != first
        assert [message.text for message in general.history] == ["four", "five"]
        assert len(world.record.sends) == 4
        await server.close()

    async def test_files_are_uploaded_and_downloaded(self, discord_server: DiscordServer, general: Channel) -> None:
        """Byte for byte, by a link that expires."""
        world = discord_server.world
        content = bytes(range(256)) * 100
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(general.id)
            files = [discord.File(io.BytesIO(content), "über uns.bin"), discord.File(io.BytesIO(b"b"), "b.txt")]
            await channel.send("two files", files=files)
            [row] = [message async for message in channel.history()]
            assert [await file.read() for file in row.attachments] == [content, b"b"]
            link = row.attachments[0].url
            assert [file.size for file in row.attachments] == [len(content), 1]
        assert [upload.bytes for upload in world.record.uploads] == [25_600, 1]
        async with aiohttp.ClientSession() as session, session.get(link.replace("ex=", "ex=1&old=")) as expired:
            assert expired.status == 404

    @pytest.mark.parametrize(("tier", "taken"), [(0, 10 << 20), (1, 10 << 20), (2, 50 << 20), (3, 100 << 20)])
    async def test_a_boosted_server_takes_larger_files(
        self, discord_server: DiscordServer, general: Channel, tier: int, taken: int
    ) -> None:
        """Exactly what discord.py says of the server; a byte more is refused with Discord's own number."""
        world = discord_server.world
        world.guilds[general.guild].premium_tier = tier
        async with logged_in(discord_server) as client:
            guild = await client.fetch_guild(general.guild)
            assert guild.filesize_limit == taken
            channel = await client.fetch_channel(general.id)
            await channel.send(file=discord.File(io.BytesIO(bytes(taken)), "film.mp4"))
            with pytest.raises(discord.HTTPException) as refused:
                await channel.send(file=discord.File(io.BytesIO(bytes(taken + 1)), "film.mp4"))
        assert (refused.value.status, refused.value.code) == (413, 40005)
        assert [upload.bytes for upload in world.record.uploads] == [taken]

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            ({}, 50006),
            ({"content": "x" * 2001}, 50035),
            ({"content": "x", "nonce": "n" * 26}, 50035),
            ({"content": "x", "message_reference": {"message_id": "5"}}, 50035),
        ],
    )
    async def test_what_cannot_be_a_message_is_refused(
        self, discord_server: DiscordServer, general: Channel, body: dict[str, object], code: int
    ) -> None:
        """With Discord's own numbers, and nothing is written."""
        status, told, _ = await ask(discord_server, "POST", f"/channels/{general.id}/messages", json=body)
        assert (status, told["code"]) == (400, code)
        assert len(general.history) == 0

    async def test_a_bot_edits_and_deletes_its_own(self, discord_server: DiscordServer, general: Channel) -> None:
        """Other people's messages need a right, and nobody can edit them."""
        world = discord_server.world
        theirs = [world.post(general, f"theirs {number}").id for number in range(3)]
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(general.id)
            mine = await channel.send("mine")
            assert (await mine.edit(content="changed")).content == "changed"
            await mine.delete()
            for action in (lambda: client.http.edit_message(general.id, theirs[0], params=_content("x")), None):
                with pytest.raises(discord.Forbidden):
                    await (action() if action else client.http.delete_message(general.id, theirs[0]))
            with pytest.raises(discord.Forbidden):
                await client.http.delete_messages(general.id, theirs)
            allowed = Overwrite(general.guild, member=False, allow=Permission.MANAGE_MESSAGES, deny=Permission(0))
            general.overwrites = [allowed]
            await client.http.delete_message(general.id, theirs[0])
            await client.http.delete_messages(general.id, [*theirs[1:], theirs[0]])
        assert len(general.history) == 0

    async def test_a_bulk_deletion_has_its_bounds(self, discord_server: DiscordServer, general: Channel) -> None:
        """H-32: two to a hundred, none older than two weeks, all in one event."""
        world = discord_server.world
        allowed = Overwrite(general.guild, member=False, allow=Permission.MANAGE_MESSAGES, deny=Permission(0))
        general.overwrites = [allowed]
        ids = [world.post(general, "x").id for _ in range(101)]
        path = f"/channels/{general.id}/messages/bulk-delete"
        for wrong, code in ((ids, 50035), (ids[:1], 50035), ([*ids[:1], 1 << 40], 50034)):
            status, told, _ = await ask(discord_server, "POST", path, json={"messages": wrong})
            assert (status, told["code"]) == (400, code)
        async with connected(discord_server) as client:
            await client.http.delete_messages(general.id, ids[:100])
            [event] = await client.until("raw_bulk_message_delete")
        assert event.message_ids == set(ids[:100])
        assert [message.id for message in general.history] == ids[100:]

    async def test_a_bot_reacts_and_types(self, discord_server: DiscordServer, general: Channel) -> None:
        """Its own reaction is marked as such."""
        message = discord_server.world.post(general, "vote")
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(general.id)
            async with channel.typing():
                held = await channel.fetch_message(message.id)
            await held.add_reaction("👍")
            [reaction] = (await channel.fetch_message(message.id)).reactions
            assert (reaction.count, reaction.me) == (1, True)
            await held.remove_reaction("👍", client.user)
            assert (await channel.fetch_message(message.id)).reactions == []

    async def test_who_may_not_write_is_told(self, discord_server: DiscordServer, general: Channel) -> None:
        """403 with code 50013: it can read the channel and not write to it."""
        denied = Overwrite(general.guild, member=False, allow=Permission(0), deny=Permission.SEND_MESSAGES)
        general.overwrites = [denied]
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(general.id)
            with pytest.raises(discord.Forbidden) as refused:
                await channel.send("no")
        assert refused.value.code == 50013

    async def test_a_conversation_is_a_channel_of_its_own(self, discord_server: DiscordServer) -> None:
        """Opened by the bot or by the person, it is one and the same."""
        world = discord_server.world
        ada = next(iter(world.people))
        world.post(world.channel("@Ada"), "psst")
        async with logged_in(discord_server) as client:
            opened = await client.create_dm(await _user(client, ada))
            await opened.send("yes?")
            assert [message.content async for message in opened.history()] == ["yes?", "psst"]
        stranger = world.add_bot("Other")
        status, told, _ = await ask(
            discord_server, "GET", f"/channels/{opened.id}/messages", token=world.token(stranger)
        )
        assert (status, told["code"]) == (403, 50001)

    async def test_a_message_wakes_an_archived_thread(self, discord_server: DiscordServer, general: Channel) -> None:
        """H-40: unless it is locked."""
        world = discord_server.world
        thread = threads.start(world, general, "plans", text="first")
        world.archive(thread, archived=True)
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(thread.id)
            sent = await channel.send("awake")
            assert thread.thread
            assert not thread.thread.archived
            thread.thread.locked = True
            world.archive(thread, archived=True)
            for action in (channel.send("no"), sent.edit(content="no")):
                with pytest.raises(discord.HTTPException) as refused:
                    await action
                assert refused.value.code == 50083
        assert first_bot(discord_server).id == thread.history.before(None, 1)[0].author


def _content(text: str) -> discord.http.MultipartParameters:
    return discord.http.handle_message_parameters(content=text)


async def _user(client: discord.Client, number: int) -> discord.Object:
    return discord.Object(number)
