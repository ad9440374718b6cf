"""A channel that Discord has wait for an hour is parked: it holds up no other channel, no cycle and no command."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta

import pytest

from tests.cycles.guilds.conftest import CHANNELS, COUNTING, PAGES, GuildMirror, channels_of, portions_of, talk
from tests.waiting import PATIENCE, until
from tidegate.channels.queries import channels
from tidegate.cycles.guild_cycle import look_around
from tidegate.history.backfill import backfill
from tidegate.history.newest_reconciliation import reconcile
from tidegate.lanes import parked_reads
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.places import Channel, Guild
from tidegate.loopback.faults import Fault, FaultKind

HOUR = 3_600.0


def make_wait(world: World, made: Iterable[Channel], seconds: float = HOUR) -> None:
    """The next page of each of these channels is answered with a wait for its bucket."""
    for channel in made:
        world.faults.add(Fault(FaultKind.WAIT, PAGES, seconds=seconds, channel=channel.id))


async def parked_for(mirror: GuildMirror, channel: Channel) -> timedelta | None:
    """How long a channel is parked, as its row says."""
    async with mirror.database.connection() as connection:
        until = (await channels.find(connection, str(channel.id))).parked_until
    return None if until is None else until - await mirror.now()


@pytest.fixture
def eight(world: World, guild: Guild) -> list[Channel]:
    return channels_of(world, guild, [150] * 8)


async def test_two_long_waits_hold_up_none_of_the_other_six(
    mirror: GuildMirror, world: World, eight: list[Channel]
) -> None:
    """Two slots of concurrency, two channels that wait an hour: a cycle reads the other six, and ends."""
    await mirror.connect()
    make_wait(world, eight[:2])
    async with asyncio.timeout(PATIENCE):
        report = await mirror.cycle()
    assert await mirror.equals_truth(*eight[2:])
    assert report.troubles == []
    assert {one.id for one in eight[:2]} == report.parked.keys()
    assert [await parked_for(mirror, one) for one in eight[2:]] == [None] * 6
    for one in eight[:2]:
        left = await parked_for(mirror, one)
        assert left is not None
        assert timedelta(minutes=59) < left <= timedelta(hours=1)


async def test_a_parked_channel_is_not_asked_again_before_its_time(
    mirror: GuildMirror, world: World, eight: list[Channel]
) -> None:
    """Neither a cycle, a backfill, a comparison nor a restarted worker calls it; each says that it waits."""
    await mirror.connect()
    make_wait(world, eight[:1])
    await mirror.cycle()
    await mirror.connect()
    async with mirror.counted() as calls, asyncio.timeout(PATIENCE):
        await mirror.cycle()
        [filled] = (await backfill(mirror.context, COUNTING.history, [await mirror.history(eight[0])])).channels
        [compared] = (await reconcile(mirror.context, [await mirror.history(eight[0])], limit=100)).channels
    assert calls[PAGES] == 0
    for one in (filled, compared):
        assert one.error is None
        assert one.parked is not None
    told = await mirror.rows("SELECT data FROM events WHERE kind = 'channel.parked'")
    assert [row["data"]["channel"] for row in told] == [eight[0].id]


async def test_a_wait_in_the_middle_goes_on_at_the_same_page(
    mirror: GuildMirror, world: World, guild: Guild, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a turn has read stays; when the wait is over no page is asked for twice."""
    monkeypatch.setattr(parked_reads, "SHORT_WAIT", timedelta(seconds=0.1))
    [made] = channels_of(world, guild, [350])
    mirror.policy = portions_of(10)  # one cursor: slices would add pages
    await mirror.connect()
    await look_around(mirror.context)
    asked = 0
    page = mirror.lane.page

    async def waits_at_the_third(*arguments: object, **others: object) -> object:
        nonlocal asked
        asked += 1
        if asked == 3:
            make_wait(world, [made], seconds=1)
        return await page(*arguments, **others)  # type: ignore[arg-type]

    mirror.lane.page = waits_at_the_third  # type: ignore[method-assign, assignment]
    async with mirror.counted() as calls:
        await backfill(mirror.context, mirror.policy.history, [await mirror.history(made)])
        before = len(await mirror.stored(made))
        assert 0 < before < 350
        async with mirror.working():
            await until(lambda: mirror.equals_truth(made))
    assert calls[PAGES] == 4 + 1  # the one that was told to wait


async def test_a_waiting_survey_leaves_what_is_known_to_be_missing_readable(
    mirror: GuildMirror, world: World, eight: list[Channel]
) -> None:
    """Where the list of channels waits, nothing is taken for deleted, and known gaps are read."""
    await mirror.connect()
    make_wait(world, eight[:1])
    await mirror.cycle()
    talk(world, eight[1], 3)
    world.faults.add(Fault(FaultKind.WAIT, CHANNELS, seconds=HOUR))
    async with asyncio.timeout(PATIENCE):
        report = await mirror.cycle()
    assert report.parked.keys() == {None, eight[0].id}
    assert [await mirror.state(one) for one in eight] == ["ok"] * 8
