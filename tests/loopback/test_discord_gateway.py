"""The gateway: signing in, what it tells, and sessions that end or are resumed, by the real client."""

from __future__ import annotations

import asyncio
import json
import zlib

import aiohttp
import discord
import pytest

from tests.loopback.bots import Listener, ask, connected, everything_but_members, first_bot
from tests.waiting import PATIENCE
from tidegate.loopback.discord import DiscordServer
from tidegate.loopback.discord.world import threads
from tidegate.loopback.discord.world.messages.reactions import add_reaction, clear_reactions, remove_reaction
from tidegate.loopback.discord.world.permissions import Overwrite, Permission
from tidegate.loopback.discord.world.places import Channel, ChannelKind
from tidegate.loopback.discord.world.record import GatewaySession
from tidegate.loopback.faults import Fault, FaultKind


@pytest.fixture
def general(discord_server: DiscordServer) -> Channel:
    """The channel everybody can read."""
    return discord_server.world.channel("general")


class TestSigningIn:
    async def test_heads_permissions_and_threads_come_with_the_guild(
        self, discord_server: DiscordServer, general: Channel
    ) -> None:
        """H-02: after signing in a client knows every head without a REST call, a deleted one and a null one too."""
        world = discord_server.world
        guild = next(iter(world.guilds.values()))
        world.add_channel(guild, "empty")
        forum = world.add_channel(guild, "ideas", ChannelKind.FORUM)
        post = threads.start(world, forum, "Better sails", text="red ones")
        world.post(general, "hello")
        world.delete(general, [general.head])
        async with connected(discord_server) as client:
            assert client.get_channel(general.id).last_message_id == general.head
            assert client.get_channel(world.channel("empty").id).last_message_id is None
            assert client.get_channel(forum.id).last_message_id == post.id
            assert client.get_channel(post.id).last_message_id == post.id
            mine = client.get_channel(general.id).permissions_for(client.get_guild(guild.id).me)
            assert (mine.read_message_history, mine.manage_messages) == (True, False)
        calls = world.record.by_method()
        assert calls == {"GET /users/@me": 1, "GET /oauth2/applications/@me": 1, "gateway identify": 1}

    async def test_an_intent_nobody_switched_on_is_refused(self, discord_server: DiscordServer) -> None:
        """Closed with 4014, which the client tells its user as what to switch on."""
        first_bot(discord_server).switched_on.discard("message_content")
        with pytest.raises(discord.PrivilegedIntentsRequired):
            async with connected(discord_server):
                pass
        without = discord.Intents.default()
        async with connected(discord_server, intents=without) as client:
            assert client.is_ready()

    async def test_a_wrong_token_is_refused(self, discord_server: DiscordServer, general: Channel) -> None:
        """401 over REST, 4004 at the gateway; a token that was made anew ends the session."""
        world, bot = discord_server.world, first_bot(discord_server)
        async with connected(discord_server) as client:
            running = client.ws
            world.renew_token(bot)
            await client.until_so(client.is_closed)
            assert running.socket.close_code == 4004
            async with Listener() as stranger:
                with pytest.raises(discord.LoginFailure):
                    await stranger.login("wrong")
        async with aiohttp.ClientSession() as session, session.ws_connect(discord_server.gateway_url) as socket:
            await socket.receive_json()
            await socket.send_json({"op": 2, "d": {"token": "wrong", "intents": 1}})
            assert (await socket.receive()).data == 4004

    async def test_what_a_client_asks_for_decides_how_it_is_told(self, discord_server: DiscordServer) -> None:
        """A zlib stream for who wants one, as discord.py does, and plain text for who does not."""
        url = discord_server.gateway_url + "/?v=10&encoding=json"
        async with aiohttp.ClientSession() as session:
            async with session.ws_connect(url) as plain:
                hello = await plain.receive_json()
                assert (hello["op"], hello["d"]["heartbeat_interval"]) == (10, 41_250)
            async with session.ws_connect(f"{url}&compress=zlib-stream") as packed:
                frame = await packed.receive_bytes()
                assert frame.endswith(b"\x00\x00\xff\xff")
                assert json.loads(zlib.decompressobj().decompress(frame)) == hello

    @pytest.mark.parametrize(
        ("frame", "code"),
        [
            ("no json", 4002),
            ('{"op": 99}', 4001),
            ('{"op": 3, "d": {}}', 4003),
            ('{"op": 2, "d": {"token": "TOKEN", "intents": 134217728}}', 4013),
        ],
    )
    async def test_a_frame_that_cannot_be_ends_the_connection(
        self, discord_server: DiscordServer, frame: str, code: int
    ) -> None:
        """With Discord's own close code for it."""
        token = discord_server.world.token(first_bot(discord_server))
        async with aiohttp.ClientSession() as session, session.ws_connect(discord_server.gateway_url) as socket:
            await socket.receive_json()
            await socket.send_str(frame.replace("TOKEN", token))
            assert (await socket.receive()).data == code


class TestNews:
    async def test_messages_come_edits_and_deletions_too(self, discord_server: DiscordServer, general: Channel) -> None:
        """Also of messages the client never saw: raw events name them."""
        world = discord_server.world
        old = [world.post(general, f"old {number}").id for number in range(3)]
        async with connected(discord_server) as client:
            new = world.post(general, "new")
            world.edit(general, old[0], text="changed")
            world.delete(general, [old[0]])
            world.delete(general, [*old[1:], new.id])
            [bulk] = await client.until("raw_bulk_message_delete")
            [created], [edited], [deleted] = (
                client.all(name) for name in ("message", "raw_message_edit", "raw_message_delete")
            )
        assert (created.id, created.content, created.guild.name) == (new.id, "new", "Harbour")
        assert (edited.message_id, edited.data["content"]) == (old[0], "changed")
        assert edited.data["edited_timestamp"]
        assert deleted.message_id == old[0]
        assert bulk.message_ids == {*old[1:], new.id}

    async def test_reactions_are_told_and_counted(self, discord_server: DiscordServer, general: Channel) -> None:
        """Added, taken back and all taken off; a message read later has what is left."""
        world = discord_server.world
        message = world.post(general, "vote")
        ada, brook = list(world.people)[:2]
        async with connected(discord_server) as client:
            for person in (ada, brook, brook):
                add_reaction(world, general, message.id, "👍", person)
            remove_reaction(world, general, message.id, "👍", ada)
            [removed] = await client.until("raw_reaction_remove")
            channel = client.get_channel(general.id)
            [reaction] = (await channel.fetch_message(message.id)).reactions
            assert (str(reaction.emoji), reaction.count, reaction.me) == ("👍", 1, False)
            clear_reactions(world, general, message.id)
            await client.until("raw_reaction_clear")
            assert (await channel.fetch_message(message.id)).reactions == []
            assert [event.user_id for event in client.all("raw_reaction_add")] == [ada, brook]
        assert removed.user_id == ada

    async def test_channels_and_threads_come_and_go(self, discord_server: DiscordServer, general: Channel) -> None:
        """H-23: made, changed, archived, deleted: each is told without a call."""
        world = discord_server.world
        guild = next(iter(world.guilds.values()))
        seed = world.post(general, "shall we?")
        async with connected(discord_server) as client:
            made = world.add_channel(guild, "news", ChannelKind.NEWS)
            thread = threads.start(world, general, "Plans", from_message=seed.id)
            world.archive(thread, archived=True)
            threads.delete(world, thread)
            threads.delete(world, made)
            [gone] = await client.until("guild_channel_delete")
            [created], [update], [deleted] = (
                client.all(name) for name in ("thread_create", "raw_thread_update", "raw_thread_delete")
            )
            assert [channel.name for channel in client.all("guild_channel_create")] == ["news"]
            [marked] = client.all("raw_message_edit")
        assert (gone.id, created.id, created.parent_id) == (made.id, seed.id, general.id)
        assert update.data["thread_metadata"]["archived"]
        assert deleted.thread_id == seed.id
        assert marked.data["flags"] & 1 << 5

    async def test_only_what_was_asked_for_and_may_be_seen_is_told(
        self, discord_server: DiscordServer, general: Channel
    ) -> None:
        """Without the content intent words are blank; a channel that cannot be seen is silent; intents choose."""
        world = discord_server.world
        guild = next(iter(world.guilds.values()))
        hidden = world.add_channel(guild, "hidden")
        denied = Overwrite(guild.id, member=False, allow=Permission(0), deny=Permission.VIEW_CHANNEL)
        hidden.overwrites = [denied]
        blank = discord.Intents(guilds=True, guild_messages=True)
        async with connected(discord_server, intents=blank) as client:
            world.post(hidden, "secret")
            message = world.post(general, "words")
            add_reaction(world, general, message.id, "👍", message.author)
            world.post(general, "more words")
            messages = await client.until("message", 2)
            assert [(message.channel.name, message.content) for message in messages] == [("general", "")] * 2
            assert client.all("raw_reaction_add") == []
        direct = discord.Intents(guilds=True, dm_messages=True, message_content=True)
        async with connected(discord_server, intents=direct) as client:
            world.post(general, "in the guild")
            world.post(world.channel("@Ada"), "between us")
            [message] = await client.until("message")
            assert (message.content, message.guild) == ("between us", None)
            assert [row async for row in message.channel.history()] == [message]


class TestSessions:
    async def test_a_lost_connection_is_resumed_and_told_what_it_missed(
        self, discord_server: DiscordServer, general: Channel
    ) -> None:
        """H-08: in order, each once, and without a new sign-in."""
        world = discord_server.world
        async with connected(discord_server) as client:
            world.post(general, "before")
            await client.until("message")
            await cut_off(discord_server, client)
            missed = [world.post(general, f"missed {number}").id for number in range(5)]
            await client.until("resumed")
            world.post(general, "after")
            messages = await client.until("message", 7)
        assert [message.id for message in messages[1:6]] == missed
        assert [message.content for message in messages] == ["before", *(f"missed {n}" for n in range(5)), "after"]
        assert world.record.by_method()["gateway identify"] == 1
        assert world.record.by_method()["gateway resume"] == 1

    @pytest.mark.parametrize("how", ["forgotten", "fault", "too late"])
    async def test_a_resume_may_be_refused(self, discord_server: DiscordServer, general: Channel, how: str) -> None:
        """H-09: op 9 with false; the client signs in anew, and what it missed is a gap up to the new head."""
        world = discord_server.world
        async with connected(discord_server) as client:
            if how == "fault":
                world.faults.add(Fault(FaultKind.INVALID_SESSION, "gateway resume"))
            if how == "too late":
                world.limits.resume_s = -1
            await cut_off(discord_server, client, forget=how == "forgotten")
            missed = world.post(general, "missed")
            await client.until("ready", 2)
            assert client.get_channel(general.id).last_message_id == missed.id
            assert client.all("message") == client.all("resumed") == []

    async def test_a_session_waits_only_so_long(self, discord_server: DiscordServer) -> None:
        """Resumed in time it goes on; later, or after an event nobody told it, the answer is op 9 with false."""
        token = discord_server.world.token(first_bot(discord_server))
        await self._come_and_go(discord_server, token, 4000)
        [number] = discord_server.gateway.sessions

        async def resume(last: int) -> tuple[int, object]:
            async with aiohttp.ClientSession() as session, session.ws_connect(discord_server.gateway_url) as socket:
                await socket.receive_json()
                told = {"token": token, "session_id": number, "seq": last}
                await socket.send_json({"op": 6, "d": told})
                frame = await socket.receive_json()
                await socket.close(code=4000)
                return frame["op"], frame.get("t") or frame["d"]

        assert await resume(99) == (9, False)
        assert await resume(2) == (0, "RESUMED")
        assert await resume(1) == (0, "GUILD_CREATE")
        discord_server.world.limits.resume_s = -1
        assert await resume(2) == (9, False)

    async def test_the_gateway_may_ask_to_reconnect(self, discord_server: DiscordServer, general: Channel) -> None:
        """Op 7, and op 9 with true: the client comes back to its session."""
        async with connected(discord_server) as client:
            discord_server.gateway.ask_to_reconnect()
            await client.until("resumed")
            discord_server.gateway.invalidate(resumable=True)
            await client.until("resumed", 2)
            discord_server.gateway.invalidate(resumable=False)
            await client.until("ready", 2)

    async def test_a_client_that_says_goodbye_is_forgotten(self, discord_server: DiscordServer) -> None:
        """Closed with 1000 a session is over; discord.py itself closes with 4000, and its session waits."""
        token = discord_server.world.token(first_bot(discord_server))
        [opened] = await self._come_and_go(discord_server, token, 1000)
        assert (opened.account, opened.closed_at is not None) == ("Tidebot", True)
        assert discord_server.gateway.sessions == {}
        await self._come_and_go(discord_server, token, 4000)
        [waiting] = discord_server.gateway.sessions.values()
        assert waiting.line is None

    async def _come_and_go(self, server: DiscordServer, token: str, code: int) -> list[GatewaySession]:
        async with aiohttp.ClientSession() as session, session.ws_connect(server.gateway_url) as socket:
            await socket.send_json({"op": 2, "d": {"token": token, "intents": 1}})
            assert [(await socket.receive_json())["op"] for _ in range(3)] == [10, 0, 0]
            await socket.close(code=code)
        connections = server.world.record.sessions
        async with asyncio.timeout(PATIENCE):
            while connections[-1].closed_at is None:
                await asyncio.sleep(0)
        return connections

    async def test_an_unanswered_heartbeat_ends_the_connection(self, discord_server: DiscordServer) -> None:
        """A gateway that fell silent: the client notices by itself and resumes. Heartbeats are no calls."""
        world = discord_server.world
        world.limits.heartbeat_ms = 200
        async with connected(discord_server, heartbeat_timeout=0.5) as client:
            world.faults.add(Fault(FaultKind.TIMEOUT, "gateway heartbeat", count=1000))
            await client.until("disconnect")
            world.faults.clear()
            await client.until("resumed")
        assert not [method for method in world.record.by_method() if "heartbeat" in method]

    @pytest.mark.parametrize("kind", [FaultKind.DISCONNECT, FaultKind.ERROR, FaultKind.WAIT])
    async def test_signing_in_may_fail_for_a_while(self, discord_server: DiscordServer, kind: FaultKind) -> None:
        """A connection cut, an internal error, too many starts: the client tries again."""
        discord_server.world.faults.add(Fault(kind, "gateway identify"))
        async with connected(discord_server) as client:
            assert client.is_ready()

    async def test_the_gateway_is_struck_only_by_name(self, discord_server: DiscordServer) -> None:
        """A fault for any call waits for one over REST; signing in goes on."""
        faults = discord_server.world.faults
        token = discord_server.world.token(first_bot(discord_server))
        faults.add(Fault(FaultKind.FORBIDDEN))
        await self._come_and_go(discord_server, token, 1000)
        assert len(faults.waiting) == 1
        assert (await ask(discord_server, "GET", "/users/@me"))[0] == 403

    async def test_two_sessions_hear_the_same(self, discord_server: DiscordServer, general: Channel) -> None:
        """Each with numbers of its own; a worker that took over does not disturb the one that is leaving."""
        async with connected(discord_server, intents=everything_but_members()) as first:
            discord_server.world.post(general, "one")
            await first.until("message")
            async with connected(discord_server) as second:
                discord_server.world.post(general, "two")
                await first.until("message", 2)
                assert [message.content for message in await second.until("message")] == ["two"]


async def cut_off(server: DiscordServer, client: Listener, *, forget: bool = False) -> None:
    """Hang up on a client, and wait until it noticed; its session is kept unless it is to be forgotten."""
    lost = len(client.all("disconnect")) + 1
    server.gateway.hang_up(4000)
    if forget:
        server.gateway.sessions.clear()
    await client.until("disconnect", lost)
