"""H-13 to H-19: how deep histories go, in slices where they are huge."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.cycles.guilds.conftest import COUNTING, PAGES, GuildMirror, channels_of, portions_of, talk
from tidegate.cycles.guild_cycle import look_around
from tidegate.history.backfill import backfill
from tidegate.history.rules.backfill_plan import HistoryDepth, PortionBudget
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.history import Made
from tidegate.loopback.discord.world.places import Guild
from tidegate.loopback.discord.world.world import BEGINS


async def test_h14_the_target_keeps_whole_pages(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-14: reached in the middle of a page: the page is kept, its lowest id is where coverage begins."""
    [made] = channels_of(world, guild, [350])
    mirror.policy = portions_of(10, target=150)
    await mirror.connect()
    async with mirror.counted() as calls:
        await mirror.cycle()
        await mirror.cycle()
    numbers = sorted(message.id for message in made.history)
    assert calls[PAGES] == 2
    assert await mirror.covered(made) == [(numbers[150], numbers[-1])]


async def test_h15_a_date_bounds_a_walk_and_a_later_one_goes_on(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """H-15: two pages reach back 150 days; it is not complete, and without the bound only the rest is read."""
    [made] = channels_of(world, guild, [0])
    people = tuple(world.people)
    made.history.made = Made.until(BEGINS, 300, timedelta(days=1), low=5, title="old", authors=people)
    made.head = made.history.made.id_at(299)
    await mirror.connect()
    await look_around(mirror.context)
    since = HistoryDepth(since=BEGINS - timedelta(days=150))
    async with mirror.counted() as calls:
        for _ in range(2):
            await backfill(mirror.context, COUNTING.history, [await mirror.history(made)], wanted=since)
    assert calls[PAGES] == 2
    assert not (await mirror.history(made)).known.coverage.reached_start
    async with mirror.counted() as calls:
        await backfill(mirror.context, COUNTING.history, [await mirror.history(made)], wanted=HistoryDepth())
    assert (calls[PAGES], len(await mirror.stored(made))) == (2, 300)


@pytest.mark.parametrize("slices", [1, 8])
async def test_h16_slices_bring_the_same_rows(mirror: GuildMirror, world: World, guild: Guild, slices: int) -> None:
    """H-16: one cursor or eight: the same messages, and at most a page more a slice."""
    [made] = channels_of(world, guild, [0])
    count = 17_000
    ends, people = BEGINS + timedelta(days=300), tuple(world.people)
    made.history.made = Made.until(ends, count, timedelta(minutes=1), low=5, title="huge", authors=people)
    talk(world, made, 1)
    await mirror.connect()
    policy = replace(COUNTING.history, budget=PortionBudget(batches=slices))
    mirror.policy = portions_of(1)
    await mirror.cycle()
    async with mirror.counted() as calls:
        await backfill(mirror.context, policy, [await mirror.history(made)], wanted=HistoryDepth())
    assert len(await mirror.stored(made)) == count + 1
    assert await mirror.covered(made) == [(0, made.head)]
    assert calls[PAGES] <= -(-count // 100) + slices
