"""Trouble made on purpose: each kind of it as the real client meets it."""

from __future__ import annotations

import asyncio

import aiohttp
import discord
import pytest

from tests.loopback.bots import ask, connected, first_bot, logged_in
from tidegate.loopback.discord import DiscordServer
from tidegate.loopback.discord.world.places import Channel
from tidegate.loopback.faults import Fault, FaultKind

PAGES = "GET /channels/{channel.id}/messages"
SENDS = "POST /channels/{channel.id}/messages"


@pytest.fixture
def general(discord_server: DiscordServer) -> Channel:
    """The channel with 120 messages."""
    channel = discord_server.world.channel("general")
    for number in range(120):
        discord_server.world.post(channel, f"message {number}")
    return channel


class TestRefusals:
    @pytest.mark.parametrize(
        ("code", "status", "number"),
        [("503", 503, 0), ("403 50013", 403, 50013), ("404 10003", 404, 10003), ("400", 400, 0)],
    )
    async def test_any_error_can_be_had(
        self, discord_server: DiscordServer, general: Channel, code: str, status: int, number: int
    ) -> None:
        """H-29: by status, or by status and Discord's own number; 503 is one that discord.py does not repeat."""
        discord_server.world.faults.add(Fault(FaultKind.ERROR, PAGES, code=code))
        async with logged_in(discord_server) as client:
            with pytest.raises(discord.HTTPException) as refused:
                await client.http.logs_from(general.id, 100)
            assert (refused.value.status, refused.value.code) == (status, number)
            assert len(await client.http.logs_from(general.id, 100)) == 100

    async def test_a_fault_strikes_only_what_it_fits(self, discord_server: DiscordServer, general: Channel) -> None:
        """By method, channel and account, and as often as it was asked for."""
        world = discord_server.world
        other = world.add_channel(next(iter(world.guilds.values())), "other")
        world.faults.add(Fault(FaultKind.FORBIDDEN, PAGES, 2, channel=other.id, account="Tidebot"))
        async with logged_in(discord_server) as client:
            assert await client.fetch_channel(other.id)
            assert len(await client.http.logs_from(general.id, 1)) == 1
            for _ in range(2):
                with pytest.raises(discord.Forbidden):
                    await client.http.logs_from(other.id, 1)
            assert await client.http.logs_from(other.id, 1) == []

    async def test_a_token_that_is_worthless_ends_everything(
        self, discord_server: DiscordServer, general: Channel
    ) -> None:
        """H-24: 401, the session closed with 4004, and only the new token signs in."""
        world = discord_server.world
        async with connected(discord_server) as client:
            socket = client.ws.socket
            world.faults.add(Fault(FaultKind.SIGNED_OUT, PAGES))
            with pytest.raises(discord.HTTPException) as refused:
                await client.http.logs_from(general.id, 1)
            assert refused.value.status == 401
            await client.until_so(client.is_closed)
            assert socket.close_code == 4004
        async with logged_in(discord_server) as client:
            assert client.user.id == first_bot(discord_server).id


class TestSilence:
    async def test_a_cut_connection_did_nothing(self, discord_server: DiscordServer, general: Channel) -> None:
        """The client does not repeat it by itself; nothing was sent."""
        discord_server.world.faults.add(Fault(FaultKind.DISCONNECT, SENDS))
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(general.id)
            with pytest.raises(aiohttp.ClientError):
                await channel.send("lost")
        assert len(general.history) == 120

    async def test_an_answer_may_be_lost_after_the_deed(self, discord_server: DiscordServer, general: Channel) -> None:
        """Sent, and nobody was told: with the nonce, a second try finds the first."""
        world = discord_server.world
        world.faults.add(Fault(FaultKind.DROP_AFTER_ACCEPT, SENDS))
        async with logged_in(discord_server) as client:
            channel = await client.fetch_channel(general.id)
            with pytest.raises(aiohttp.ClientError):
                await channel.send("once", nonce="n-1")
            again = await channel.send("once", nonce="n-1")
        assert len(general.history) == 121
        assert [sent.message for sent in world.record.sends] == [again.id] == [general.head]

    async def test_a_call_may_never_be_answered(self, discord_server: DiscordServer, general: Channel) -> None:
        """The connection stands; other calls go on, and closing the platform does not wait for it."""
        discord_server.world.faults.add(Fault(FaultKind.TIMEOUT, PAGES))
        async with logged_in(discord_server) as client:
            hanging = asyncio.create_task(client.http.logs_from(general.id, 1))
            assert await client.fetch_channel(general.id)
            while PAGES not in discord_server.world.record.by_method():
                await asyncio.sleep(0)
            assert not hanging.done()
            assert not discord_server.busy
            hanging.cancel()
            await asyncio.wait([hanging])


class TestWrongAnswers:
    async def test_lists_may_be_short_or_lack_a_row(self, discord_server: DiscordServer, general: Channel) -> None:
        """A page of 37, a page without its middle message, a guild's list without a channel."""
        world = discord_server.world
        ids = [message.id for message in general.history]
        guild = f"/guilds/{general.guild}/channels"
        async with logged_in(discord_server) as client:
            world.faults.add(Fault(FaultKind.SHORT_PAGE, PAGES))
            assert len(await client.http.logs_from(general.id, 100)) == 37
            world.faults.add(Fault(FaultKind.MISSING_ROW, PAGES))
            rows = await client.http.logs_from(general.id, 100)
            assert set(ids[-100:]) - {int(row["id"]) for row in rows} == {ids[-51]}
        world.faults.add(Fault(FaultKind.MISSING_ROW, "GET /guilds/{guild.id}/channels"))
        assert (await ask(discord_server, "GET", guild))[1] == []
        assert len((await ask(discord_server, "GET", guild))[1]) == 1

    async def test_heads_may_be_stale(self, discord_server: DiscordServer, general: Channel) -> None:
        """The guild's list as it was told last time, though there is news."""
        world = discord_server.world
        path = f"/guilds/{general.guild}/channels"
        before = general.head
        await ask(discord_server, "GET", path)
        world.post(general, "news")
        world.faults.add(Fault(FaultKind.STALE, "GET /guilds/{guild.id}/channels"))
        heads = [(await ask(discord_server, "GET", path))[1][0]["last_message_id"] for _ in range(2)]
        assert heads == [str(before), str(general.head)]
