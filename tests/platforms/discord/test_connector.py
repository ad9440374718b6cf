"""Connecting a bot: what it costs, what is known after it, and what is refused with a sentence."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.platforms.discord.conftest import Opens, next_hint
from tests.platforms.discord.people import CONTROL, Person, account
from tests.platforms.drawer import Drawer
from tests.platforms.relay_proxy import relay_proxy
from tidegate.core.clock import SystemClock
from tidegate.core.errors import BadInput, NotSent, PlatformError, SignedOut
from tidegate.core.ids import ChannelId, GuildId
from tidegate.loopback.discord import DiscordServer, World
from tidegate.loopback.discord.world.history import Attachment
from tidegate.loopback.discord.world.places import Bot, Channel, Guild
from tidegate.platforms.account_proxy import PROXY
from tidegate.platforms.discord.account_sign_in import sign_in
from tidegate.platforms.discord.connector import SIGN_IN, discord_opener
from tidegate.platforms.interface import SignInAttempt, UpdateStream

LISTENING = ["GET /users/@me", "GET /applications/@me", "GET /gateway/bot", "gateway identify"]


async def test_connecting_is_counted_as_discord_counts_it(
    opens: Opens, world: World, general: Channel, noted: list[str]
) -> None:
    """calls-through-a-lane: the ledger's connecting and the platform's own count agree, method by method."""
    await opens()
    assert noted == LISTENING
    assert Counter(noted) == world.record.by_method()


async def test_heads_come_with_the_connection(opens: Opens, guild: Guild, general: Channel) -> None:
    """H-02: after connecting, where every channel stands is known without a call."""
    client = await opens()
    told = client.known_heads()
    assert told is not None
    head = told[ChannelId(general.id)]
    assert head.newest == general.head
    assert head.channel is not None
    assert (head.channel.title, head.channel.guild) == ("general", GuildId(guild.id))
    assert head.channel.readable
    assert client.known_guilds() == [GuildId(guild.id)]
    began = await next_hint(client, lambda hint: hint.stream is UpdateStream.BEGAN)
    assert began.heads == told


async def test_everything_goes_through_the_accounts_proxy(
    opens: Opens, world: World, general: Channel, drawer: Drawer, discord: DiscordServer
) -> None:
    """Calls, the gateway and files: as many connections of the proxy as Discord got requests."""
    world.post(general, "a file", attachments=[Attachment(world.new_id(), "a.bin", b"low tide")])
    async with relay_proxy() as proxy:
        await drawer.write(PROXY, proxy.url.encode())
        client = await opens()
        page = await client.page(ChannelId(general.id), before=None)
        assert proxy.places == [urlsplit(discord.address).netloc] * (len(LISTENING) + 1)
        assert await client.read_file(page.messages[0].files[0].handle, offset=0, length=100) == b"low tide"
        assert len(proxy.places) == len(LISTENING) + 2
        await client.close()


async def test_without_listening_guilds_are_asked_for(
    opens: Opens, world: World, guild: Guild, general: Channel, noted: list[str]
) -> None:
    """H-01: no gateway, so nothing is told; the guilds are known."""
    client = await opens(live=False)
    assert client.known_heads() is None
    assert client.known_guilds() == [GuildId(guild.id)]
    assert Counter(noted) == world.record.by_method()
    with pytest.raises(PlatformError, match="discord_live"):
        await client.hints(most=1)


async def test_a_guild_in_an_outage_does_not_hold_up_the_others(
    opens: Opens, world: World, guild: Guild, general: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What does not tell of itself in time is unknown; the rest is certain."""
    dark = world.add_guild("The dark one")
    dark.unavailable = True
    monkeypatch.setattr("tidegate.platforms.discord.gateway.connection.GUILDS_WITHIN", timedelta(seconds=0.1))
    client = await opens()
    assert set(client.known_heads() or ()) == {ChannelId(general.id)}


async def test_an_account_without_a_token_is_signed_out(opens: Opens, drawer: Drawer) -> None:
    """A person has to act."""
    drawer.kept.clear()
    with pytest.raises(SignedOut, match="not signed in"):
        await opens()


async def test_a_token_made_anew_signs_the_account_out(opens: Opens, world: World, bot: Bot) -> None:
    """H-24: one request, and the account waits for a person."""
    world.renew_token(bot)
    with pytest.raises(SignedOut):
        await opens()
    assert world.record.by_method() == {"GET /users/@me": 1}


async def test_without_the_intent_it_is_said_what_to_switch_on(opens: Opens, bot: Bot) -> None:
    """Messages would come without words: refused before that, with the place to change it."""
    bot.switched_on.discard("message_content")
    with pytest.raises(PlatformError, match="Message Content Intent"):
        await opens()


async def test_where_discord_cannot_be_reached(drawer: Drawer, noted: list[str]) -> None:
    """The sentence says so, and nothing that never left is counted."""

    async def nowhere(_: str) -> str:
        return CONTROL

    with pytest.raises(NotSent, match="cannot be reached"):
        await discord_opener(SystemClock(), find_loopback=nowhere)(account(), drawer, noted.append)
    assert noted == []


# Signing in


async def enter(discord: DiscordServer, drawer: Drawer, token: str, noted: list[str] | None = None) -> str:
    async def find(control: str) -> str:
        assert control == CONTROL
        return discord.address

    calls = noted if noted is not None else []
    attempt = SignInAttempt(account(), drawer, calls.append)
    me = await sign_in(attempt, Person(token), clock=SystemClock(), find_loopback=find)
    return me.name


@pytest.mark.parametrize("written", ["{}", "  {}  ", "Bot {}"])
async def test_signing_in_keeps_the_token(
    discord: DiscordServer, world: World, bot: Bot, noted: list[str], written: str
) -> None:
    """The token goes into the vault, and who the bot is comes back."""
    drawer = Drawer()
    assert await enter(discord, drawer, written.format(world.token(bot)), noted) == "gate"
    assert drawer.kept == {SIGN_IN: world.token(bot).encode()}
    assert Counter(noted) == world.record.by_method()


@pytest.mark.parametrize("token", ["", "two words", "nobody.knows.this", "🐟"])
async def test_what_is_no_bots_token_gets_a_sentence(discord: DiscordServer, token: str) -> None:
    """bad-input-gets-a-sentence: what to do is said, and nothing is kept. A person's own token gets the same answer."""
    drawer = Drawer()
    with pytest.raises(BadInput, match="person's own account is not used"):
        await enter(discord, drawer, token)
    assert not drawer.kept


async def test_a_person_who_is_let_in_is_turned_away_here(drawer: Drawer, noted: list[str]) -> None:
    """Should Discord ever accept a person's token: one that is not a bot's is not used."""

    async def person(_: web.Request) -> web.Response:
        return web.json_response({"id": "5", "username": "ada"})

    app = web.Application()
    app.router.add_get("/api/v10/users/@me", person)
    async with TestServer(app) as server:

        async def find(_: str) -> str:
            return f"http://127.0.0.1:{server.port}"

        with pytest.raises(SignedOut, match="person's own account is not used"):
            await discord_opener(SystemClock(), find_loopback=find)(account(), drawer, noted.append)


async def test_a_bot_that_may_not_read_words_is_not_signed_in(discord: DiscordServer, world: World, bot: Bot) -> None:
    """The intent is checked before anything is kept."""
    bot.switched_on.clear()
    drawer = Drawer()
    with pytest.raises(PlatformError, match="Message Content Intent"):
        await enter(discord, drawer, world.token(bot))
    assert not drawer.kept
