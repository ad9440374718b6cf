"""Files of our own on Discord: they go along with every message, one message a key."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from tests.platforms.discord.conftest import Opens
from tests.waiting import until
from tidegate.core.clock import HeldClock
from tidegate.core.errors import OutcomeUnknown, Refused
from tidegate.core.ids import ChannelId, GuildId
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.places import Channel, Guild
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.platforms.discord.client import DiscordAccount
from tidegate.platforms.discord.rest import ANSWER_WITHIN, SLOWEST_UPLOAD
from tidegate.platforms.interface import Encloses, Enclosure, Head, SendKey
from tidegate.platforms.interface.uploads import PostsMedia, RemovesDuplicates

SEND = "POST /channels/{channel.id}/messages"
KEY = SendKey("run 1, target 2, part 3")
CONTENT = b"a picture of low tide" * 5_000
POSTER = Enclosure("poster.jpg", CONTENT)


@pytest.fixture
async def client(opens: Opens, general: Channel) -> DiscordAccount:
    return await opens()


def test_what_discord_can_do_with_media(client: DiscordAccount) -> None:
    """It keeps no file to be posted later, and says so; a key is recognised for two minutes (D-24)."""
    assert isinstance(client, Encloses)
    assert not isinstance(client, PostsMedia)
    assert isinstance(client, RemovesDuplicates)
    assert client.recognises_for == timedelta(minutes=2)


async def test_every_group_gets_the_file_with_its_own_caption(
    client: DiscordAccount, world: World, guild: Guild, general: Channel
) -> None:
    """Each message is one call, and has its own copy that no deletion elsewhere can take away."""
    groups = [general, world.add_channel(guild, "harbour")]
    for group in groups:
        await client.send_with(ChannelId(group.id), f"Hello {group.name}", [POSTER], key=SendKey(group.name))
    held = [group.history.get(group.head) for group in groups]
    assert [one.text for one in held if one] == ["Hello general", "Hello harbour"]
    files = [file for one in held if one for file in one.attachments]
    assert [(file.name, file.content) for file in files] == [("poster.jpg", CONTENT)] * 2
    assert files[0].id != files[1].id
    told = [(one.account, one.bytes, one.sha256) for one in world.record.uploads]
    assert told == [("gate", len(CONTENT), sha256(CONTENT).hexdigest())] * 2
    assert world.record.by_method()[SEND] == 2


async def test_d21_a_file_repeated_under_its_key_is_one_message(
    client: DiscordAccount, world: World, general: Channel
) -> None:
    """D-21, claim-before-send: the connection breaks after the message was taken; the same key again finds that very
    message.
    """
    world.faults.add(Fault(FaultKind.DROP_AFTER_ACCEPT, SEND))
    with pytest.raises(OutcomeUnknown):
        await client.send_with(ChannelId(general.id), "Hello", [POSTER], key=KEY)
    found = await client.send_with(ChannelId(general.id), "Hello", [POSTER], key=KEY)
    assert found.message == general.head
    assert len(world.record.sends) == len(world.record.uploads) == 1


async def test_a_file_above_discords_limit_is_refused_with_a_sentence(
    client: DiscordAccount, world: World, general: Channel
) -> None:
    """bad-input-gets-a-sentence: what is wrong and how much would be right; nothing was posted."""
    world.limits.file_bytes = len(CONTENT) - 1
    with pytest.raises(Refused, match="10 MiB"):
        await client.send_with(ChannelId(general.id), "", [POSTER], key=KEY)
    assert not world.record.sends


@pytest.mark.parametrize("live", [True, False])
async def test_a_channel_tells_how_large_a_file_it_takes(
    opens: Opens, world: World, guild: Guild, general: Channel, live: bool
) -> None:
    """By how far its server is boosted, told by the gateway or learned with the rights there; it costs no call."""
    boosted = world.add_guild("The marina")
    boosted.premium_tier = 2
    jetty = world.add_channel(boosted, "jetty")
    client = await opens(live=live)
    told = client.known_heads() if live else {**await listed(client, guild), **await listed(client, boosted)}
    limits = {number: head.channel.largest_file for number, head in (told or {}).items() if head.channel}
    assert limits == {general.id: 10 << 20, jetty.id: 50 << 20}


async def listed(client: DiscordAccount, guild: Guild) -> Mapping[ChannelId, Head]:
    return await client.guild_channels(GuildId(guild.id))


async def test_a_large_file_has_longer_to_arrive(opens: Opens, world: World, general: Channel) -> None:
    """A film in a boosted server takes minutes on a slow line, and is given up only when even that would be done."""
    clock = HeldClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
    client = await opens(live=False, clock=clock)
    world.faults.add(Fault(FaultKind.TIMEOUT, SEND))
    film = Enclosure("film.mp4", bytes(8 << 20))
    sending = asyncio.ensure_future(client.send_with(ChannelId(general.id), "", [film], key=KEY))
    await until(lambda: world.record.by_method()[SEND])
    await clock.advance(ANSWER_WITHIN + timedelta(seconds=len(film.content) / SLOWEST_UPLOAD - 1))
    assert not sending.done()
    await clock.advance(timedelta(seconds=1))
    with pytest.raises(OutcomeUnknown, match="too long"):
        await sending
