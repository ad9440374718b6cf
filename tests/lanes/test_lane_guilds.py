"""The lane's verbs for platforms with guilds, and for those that meter their calls themselves."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from tests.lanes.conftest import Town
from tests.lanes.guild_platform import GuildPlatform
from tests.small_platform import SmallPlatform
from tidegate.core.account import Account
from tidegate.core.errors import NotOurs, Refused
from tidegate.core.ids import ChannelId, GuildId, MessageId
from tidegate.lanes import Lane
from tidegate.platforms.interface import Head

ONE, TWO = ChannelId(1), ChannelId(2)
CHANNELS = {ChannelId(101), ChannelId(102), ChannelId(201), ChannelId(202)}

READS: dict[str, Callable[[Lane], Awaitable[object]]] = {
    "guilds": lambda lane: lane.guilds(cycle=3),
    "guild_channels": lambda lane: lane.guild_channels(GuildId(100), cycle=3),
    "guild_threads": lambda lane: lane.guild_threads(GuildId(100), cycle=3),
    "archived_threads": lambda lane: lane.archived_threads(ONE, cycle=3),
    "archived_private_threads": lambda lane: lane.archived_threads(ONE, private=True, cycle=3),
    "page_after": lambda lane: lane.page_after(ONE, after=MessageId(1), cycle=3),
}


@pytest.fixture
def platform(town: Town) -> GuildPlatform:
    return GuildPlatform(town.clock)


@pytest.mark.parametrize("verb", READS)
async def test_each_is_one_call_under_the_platforms_name(
    town: Town, lane: Lane, platform: GuildPlatform, verb: str
) -> None:
    """calls-through-a-lane: what the platform counts is on the ledger, with its cycle."""
    await READS[verb](lane)
    assert platform.count(verb) == 1
    await town.call_log.flush()
    rows = await town.database.pool.fetch("SELECT method, outcome, cycle FROM calls")
    assert [tuple(row) for row in rows] == [(f"guild.{verb}", "ok", 3)]


@pytest.mark.parametrize("verb", READS)
async def test_a_platform_without_guilds_says_so(town: Town, account: Account, verb: str) -> None:
    """bad-input-gets-a-sentence: a sentence, and no call."""
    small = SmallPlatform(town.clock)
    lane = await town.lane(account, small)
    assert not lane.has_guilds
    assert not lane.reads_up
    assert lane.known_heads() is None
    with pytest.raises(Refused, match="cannot"):
        await READS[verb](lane)
    assert not small.received


async def test_a_survey_costs_two_calls_a_guild(town: Town, lane: Lane, platform: GuildPlatform) -> None:
    """H-01: channels and active threads of each guild, and nothing else."""
    assert set(await lane.survey(cycle=1)) == CHANNELS
    assert Counter(await town.ledgered()) == {("guild.guild_channels", "ok"): 2, ("guild.guild_threads", "ok"): 2}


async def test_a_survey_costs_nothing_where_the_platform_has_told(
    town: Town, lane: Lane, platform: GuildPlatform
) -> None:
    """H-02: heads that came by themselves take no call."""
    platform.certain = {ONE: Head(MessageId(7), None)}
    assert await lane.survey() == platform.certain
    assert await lane.heads([ONE, TWO]) == platform.certain
    assert await town.ledgered() == []


async def test_a_guild_that_is_lost_does_not_hide_the_others(lane: Lane, platform: GuildPlatform) -> None:
    """One guild's failure stops no other: its channels are missing, and so unknown."""
    platform.lost = {GuildId(100)}
    assert set(await lane.survey()) == {ChannelId(201), ChannelId(202)}


async def test_heads_of_some_channels_are_picked_from_the_survey(lane: Lane, platform: GuildPlatform) -> None:
    """The gate's verb works on every platform."""
    assert set(await lane.heads([ChannelId(102), ChannelId(999)])) == {ChannelId(102)}


async def test_what_is_told_is_for_the_owner_only(town: Town, lane: Lane) -> None:
    """one-owner-per-account: a worker that lost its claim may neither call nor go by what it once heard."""
    town.deadline = town.clock.ticks()
    with pytest.raises(NotOurs):
        lane.known_heads()


async def test_a_call_the_platforms_meter_would_refuse_waits(town: Town, lane: Lane, platform: GuildPlatform) -> None:
    """H-25: the channel whose bucket is empty waits, without a refusal; the others go on."""
    platform.refused_until[ONE] = town.clock.ticks() + 1.5
    waiting = asyncio.ensure_future(lane.page(ONE, before=None))
    await lane.page(TWO, before=None)
    await town.clock.advance(timedelta(seconds=1.4))
    assert not waiting.done()
    await town.after(0.2, waiting)
    assert await town.ledgered() == [("guild.page", "ok"), ("guild.page", "ok")]
