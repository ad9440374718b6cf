"""Whole histories are compared again in the background: edits and deletions far back are found by themselves."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from datetime import date, timedelta

from tests.cycles.guilds.conftest import COUNTING, PAGES, GuildMirror, channels_of, truth
from tidegate.channels.queries import channels
from tidegate.history.background.verification import verify_some
from tidegate.history.history_pages import HistoryPolicy
from tidegate.history.queries import verification
from tidegate.history.queries.verification import HistoryRound
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.places import Channel, Guild
from tidegate.loopback.faults import Fault, FaultKind

POLICY = replace(COUNTING.history, verify_within=timedelta(days=30), verify_calls=500)


def change_silently(world: World, made: Channel, *, share: int = 50) -> None:
    """Edit and delete one message of *share* each, anywhere, while nobody listens."""
    dice = random.Random(7)
    numbers = [message.id for message in made.history]
    chosen = dice.sample(numbers, 2 * len(numbers) // share)
    for number in chosen[::2]:
        world.edit(made, number, text=f"edited {number}")
    world.delete(made, chosen[1::2], bulk=True)


async def round_of(mirror: GuildMirror, made: Channel) -> HistoryRound:
    async with mirror.database.connection() as connection:
        found = await verification.load(connection, (await channels.find(connection, str(made.id))).key)
    assert found is not None
    return found


async def spent(mirror: GuildMirror) -> int:
    async with mirror.database.connection() as connection:
        return await verification.spent_today(connection, mirror.account.id)


async def mirrored(mirror: GuildMirror, *made: Channel) -> None:
    """All of these channels stored, however many portions that takes."""
    await mirror.connect()
    while await mirror.cycle() and not await mirror.equals_truth(*made):
        pass
    assert await verify_some(mirror.context, POLICY) is None  # what was just read is not compared at once


async def test_changes_anywhere_are_found_within_the_time_and_the_budget(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """A story of thirty days: 20,000 messages, 800 silent changes, and never more calls a day than allowed."""
    [made] = channels_of(world, guild, [20_000])
    await mirrored(mirror, made)
    change_silently(world, made)
    begun, by_day = await mirror.now(), Counter[date]()
    while await mirror.stored(made) != truth(made):
        async with mirror.counted() as calls:
            again = await verify_some(mirror.context, POLICY)
        by_day[(await mirror.now()).date()] += calls[PAGES]
        assert await spent(mirror) == by_day[(await mirror.now()).date()]  # counted apart, call by call
        await mirror.pass_time(seconds=(again or timedelta(hours=6)).total_seconds())
        assert await mirror.now() - begun < POLICY.verify_within
    assert 200 <= by_day.total() < 3 * 200
    assert max(by_day.values()) <= POLICY.verify_calls


async def test_a_round_says_how_far_it_is(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """While it runs, when it will end; afterwards, until when all is known to be as the platform had it."""
    [made] = channels_of(world, guild, [950])
    await mirrored(mirror, made)
    change_silently(world, made)
    await mirror.pass_time(days=16)
    began = await mirror.now()
    assert await verify_some(mirror.context, POLICY) == timedelta(minutes=10)
    running = await round_of(mirror, made)
    assert (running.running, running.verified_until) == (True, None)
    assert running.ends_at is not None
    assert timedelta() < running.ends_at - began < timedelta(days=1)
    while (await round_of(mirror, made)).running:
        await mirror.pass_time(minutes=10)
        await mirror.connect()  # a restart goes on at the same page
        await verify_some(mirror.context, POLICY)
    ended = await round_of(mirror, made)
    assert (ended.below, ended.verified_until, ended.ends_at) == (None, began, None)
    assert await mirror.equals_truth(made)
    assert await verify_some(mirror.context, POLICY) is None


async def test_the_budget_wins_over_the_time(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """With five calls a day a round takes days; with none nothing is asked."""
    [made] = channels_of(world, guild, [950])
    await mirrored(mirror, made)
    await mirror.pass_time(days=16)
    few = replace(POLICY, verify_calls=5)
    async with mirror.counted() as calls:
        assert await verify_some(mirror.context, replace(POLICY, verify_calls=0)) is None
        for _ in range(20):
            await verify_some(mirror.context, few)
    assert 0 < calls[PAGES] <= 5
    assert (await round_of(mirror, made)).running
    await mirror.pass_time(days=1)
    async with mirror.counted() as calls:
        await verify_some(mirror.context, few)
    assert calls[PAGES] > 0


async def test_the_most_active_channel_is_compared_first(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """All end one round before any begins the next; of equals the most active begins."""
    quiet, busy = channels_of(world, guild, [20, 150])
    await mirrored(mirror, quiet, busy)
    await mirror.pass_time(days=16)
    one_page = replace(POLICY, verify_calls=140)
    await verify_some(mirror.context, one_page)
    assert (await round_of(mirror, busy)).running
    assert not (await round_of(mirror, quiet)).running
    for _ in range(3):
        await verify_some(mirror.context, one_page)
    assert (await round_of(mirror, busy)).verified_until is not None
    assert (await round_of(mirror, quiet)).verified_until is not None


async def test_a_channel_that_fails_costs_budget_and_stops_no_other(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """Its round stays where it is; the failed call counts."""
    bad, good = channels_of(world, guild, [150, 20])
    await mirrored(mirror, bad, good)
    await mirror.pass_time(days=16)
    world.faults.add(Fault(FaultKind.ERROR, PAGES, channel=bad.id, code="400 50035"))
    await verify_some(mirror.context, POLICY)
    assert (await round_of(mirror, good)).verified_until is not None
    assert (await round_of(mirror, bad)).verified_until is None
    assert await spent(mirror) == 2


def test_the_defaults_are_thirty_days_and_five_hundred_calls() -> None:
    """As the settings say."""
    assert (HistoryPolicy().verify_within, HistoryPolicy().verify_calls) == (timedelta(days=30), 500)
