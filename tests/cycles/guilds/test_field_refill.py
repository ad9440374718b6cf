"""Messages that an earlier version stored are completed in the background."""

from __future__ import annotations

from datetime import timedelta

from tests.cycles.guilds.conftest import PAGES, GuildMirror, channels_of
from tidegate.cycles.field_refill import refill
from tidegate.history.queries import partial_messages
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.places import Channel, Guild
from tidegate.loopback.faults import Fault, FaultKind

FORGET = "UPDATE messages SET kind = '', content = NULL, raw = NULL"


async def stored_by_an_earlier_version(mirror: GuildMirror) -> None:
    """A mirror whose messages have the fields that the version before had."""
    await mirror.connect()
    await mirror.cycle()
    await mirror.database.pool.execute(FORGET)


async def left(mirror: GuildMirror, channel: Channel) -> int:
    """How many messages of a channel are still partial."""
    async with mirror.database.connection() as connection:
        key = await connection.fetchval("SELECT id FROM channels WHERE number = $1", channel.id)
        return await partial_messages.count(connection, key)


async def test_partial_messages_are_read_again(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """A hundred a call, without an edit being counted; what was deleted meanwhile is marked."""
    [made] = channels_of(world, guild, [250])
    await stored_by_an_earlier_version(mirror)
    world.delete(made, [min(message.id for message in made.history)])
    async with mirror.counted() as calls:
        assert await refill(mirror.context, calls_per_hour=600) is not None
        assert await refill(mirror.context, calls_per_hour=600) is None
    assert (calls[PAGES], await left(mirror, made)) == (3, 0)
    assert await mirror.equals_truth(made)
    assert await mirror.rows("SELECT FROM message_revisions") == []


async def test_a_pass_keeps_to_its_budget(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """The next pass goes on where the last one ended, also after a restart; 0 turns it off."""
    [made] = channels_of(world, guild, [250])
    await stored_by_an_earlier_version(mirror)
    assert await refill(mirror.context, calls_per_hour=0) is None
    async with mirror.counted() as calls:
        assert await refill(mirror.context, calls_per_hour=6) == timedelta(minutes=10)
    assert (calls[PAGES], await left(mirror, made)) == (1, 150)
    await mirror.connect()
    await refill(mirror.context, calls_per_hour=6)
    assert await left(mirror, made) == 50


async def test_a_channel_that_cannot_be_read_holds_up_no_other(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """Its messages stay partial, and the others are completed."""
    closed, other = channels_of(world, guild, [5, 5])
    await stored_by_an_earlier_version(mirror)
    world.faults.add(Fault(FaultKind.ERROR, PAGES, count=1, code="400 50035", channel=closed.id))
    await refill(mirror.context, calls_per_hour=600)
    assert (await left(mirror, closed), await left(mirror, other)) == (5, 0)
    await refill(mirror.context, calls_per_hour=600)
    assert await left(mirror, closed) == 0
