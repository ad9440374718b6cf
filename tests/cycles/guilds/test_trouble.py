"""H-20 to H-31 and H-38: refusals, limits and troubles; what changed behind our back."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.cycles.guilds.conftest import COUNTING, PAGES, GuildMirror, channels_of, portions_of, talk
from tests.held import NOON
from tests.waiting import until
from tidegate.core.clock import HeldClock
from tidegate.core.errors import SignedOut
from tidegate.cycles.cycle import CyclePolicy
from tidegate.history.history_pages import HistoryPolicy
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.permissions import USUAL, Permission
from tidegate.loopback.discord.world.places import Bot, Channel, Guild
from tidegate.loopback.discord.world.threads import delete
from tidegate.loopback.faults import Fault, FaultKind


async def complete(mirror: GuildMirror, made: Channel) -> bool:
    return await mirror.equals_truth(made) and await mirror.covered(made) == [(0, made.head)]


async def test_h21_without_the_right_to_read_nothing_is_proven(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-21: 200 and an empty list behind a closed door: no tombstone, nothing complete, and it says why."""
    [made] = channels_of(world, guild, [150])
    mirror.policy = portions_of(1)
    await mirror.connect()
    await mirror.cycle()
    before = await mirror.covered(made)
    guild.roles[guild.id].permissions = USUAL & ~Permission.READ_MESSAGE_HISTORY
    talk(world, made, 3)
    await mirror.connect()
    await mirror.cycle()
    assert (await mirror.state(made), await mirror.covered(made)) == ("no_history_permission", before)
    assert len(await mirror.stored(made)) == 100
    guild.roles[guild.id].permissions = USUAL
    await mirror.connect()
    mirror.policy = COUNTING
    await mirror.cycle()
    assert await mirror.state(made) == "ok"
    assert await complete(mirror, made)


async def test_h22_a_deleted_channel_is_asked_about_once(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-22: rows are kept and readable, and no cycle asks again."""
    made, other = channels_of(world, guild, [5, 5])
    await mirror.connect()
    await mirror.cycle()
    delete(world, made)
    talk(world, other, 1)
    async with mirror.counted() as calls:
        await mirror.cycle()
        await mirror.cycle()
    assert (await mirror.state(made), calls[PAGES]) == ("deleted", 1)
    assert len(await mirror.stored(made)) == 5


async def test_h22_a_page_that_says_deleted_is_enough(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-22: 404 with code 10003 on a page: the same, and the other channels go on."""
    made, other = channels_of(world, guild, [5, 5])
    world.faults.add(Fault(FaultKind.ERROR, PAGES, code="404 10003", channel=made.id))
    await mirror.connect()
    report = await mirror.cycle()
    assert await mirror.state(made) == "deleted"
    assert await complete(mirror, other)
    assert len(report.troubles) == 1


async def test_h24_a_token_that_is_worth_nothing_stops_the_account(
    mirror: GuildMirror, world: World, guild: Guild, bot: Bot
) -> None:
    """H-24: one request, and then none."""
    channels_of(world, guild, [5] * 5)
    await mirror.connect()
    world.renew_token(bot)
    async with mirror.counted() as calls:
        for _ in range(2):
            with pytest.raises(SignedOut):
                await mirror.cycle()
    assert sum(calls.values()) == 1


@pytest.mark.parametrize(
    "fault",
    [
        Fault(FaultKind.WAIT, PAGES, seconds=0.05),
        Fault(FaultKind.ERROR, PAGES, count=3, code="503"),
        Fault(FaultKind.DISCONNECT, PAGES),
    ],
    ids=["h25 asked to wait", "h29 in trouble three times", "cut off"],
)
async def test_h25_h29_a_trouble_that_passes_costs_time_alone(
    mirror: GuildMirror, world: World, guild: Guild, fault: Fault
) -> None:
    """H-25, H-29: the page is asked for again and stored once; never taken for empty or for the end."""
    [made] = channels_of(world, guild, [120])
    world.faults.add(replace(fault))
    await mirror.connect()
    await mirror.cycle()
    assert await complete(mirror, made)


async def test_a_broken_page_does_not_end_history(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """A refusal proves nothing; one channel's failure stops no other, and the next cycle reads on.

    Invariant: platform-ends-history.
    """
    made, other = channels_of(world, guild, [150, 150])
    world.faults.add(Fault(FaultKind.ERROR, PAGES, count=1, code="400 50035", channel=made.id))
    await mirror.connect()
    report = await mirror.cycle()
    assert [trouble.partition(":")[0] for trouble in report.troubles] == [made.name]
    assert await complete(mirror, other)
    await mirror.cycle()
    assert await complete(mirror, made)


async def test_h13_messages_without_text_are_not_the_start(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-13: 600 joins and stickers hide nothing; the history is complete with its real first message, not before."""
    [made] = channels_of(world, guild, [5])
    first = min(message.id for message in made.history)
    for number in range(600):
        if number % 2:
            world.post(made, kind=7)
        else:
            world.post(made, fields={"sticker_items": [{"id": "5", "name": "wave", "format_type": 1}]})
    mirror.policy = portions_of(1)
    await mirror.connect()
    for _ in range(6):
        await mirror.cycle()
        assert first not in await mirror.stored(made)
        assert (await mirror.covered(made))[0][0] > first
    await mirror.cycle()
    await mirror.cycle()
    assert await complete(mirror, made)
    rows = await mirror.rows("SELECT service, count(*) FROM messages GROUP BY service ORDER BY service")
    assert [tuple(row) for row in rows] == [("", 305), ("new_member", 300)]


async def test_h27_a_page_for_people_is_waited_out_and_the_history_asked_again(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """H-27: 429 with HTML and no header that names a wait: a minute without any call, then the same page once more."""
    [made] = channels_of(world, guild, [120])
    clock = HeldClock(NOON)
    world.faults.add(Fault(FaultKind.HTML_429, PAGES))
    await mirror.connect(clock=clock)
    async with mirror.counted() as calls:
        cycle = asyncio.create_task(mirror.cycle())
        await until(lambda: mirror.lane.gate.paused_until)
        await clock.advance(timedelta(seconds=59))
        assert not cycle.done()
        assert (await mirror.stored(made), await mirror.covered(made)) == ({}, [])
        before = len(world.record.calls)
        await clock.advance(timedelta(seconds=1))
        report = await cycle
    assert world.record.calls[before].method == PAGES
    assert report.troubles == []
    assert await complete(mirror, made)
    assert calls[PAGES] == 3


async def test_h30_h31_one_page_finds_news_edits_and_deletions(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-30, H-31: 3 new messages, an edit and a deletion among the newest: one call, and one more for the deletion.

    What lies below is untouched.
    """
    [made] = channels_of(world, guild, [250])
    mirror.policy = CyclePolicy()
    await mirror.connect()
    await mirror.cycle()
    numbers = sorted(message.id for message in made.history)
    world.edit(made, numbers[-40], text="another text")
    made.history.remove(numbers[-50])
    made.history.remove(numbers[3])
    talk(world, made, 3, "news")
    async with mirror.counted() as calls:
        await mirror.cycle()
    assert calls[PAGES] == 2
    stored = await mirror.stored(made)
    assert stored[numbers[-40]] == "another text"
    assert numbers[-50] not in stored
    assert numbers[3] in stored


async def test_h38_a_budget_of_calls_goes_round_all_channels(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """H-38: two calls a cycle over six channels: the most active first, and none again before all had their turn."""
    made = channels_of(world, guild, [150] * 6)
    await mirror.connect()
    mirror.policy = CyclePolicy(history=HistoryPolicy(reconcile_limit=100, reconcile_calls=2))
    await mirror.cycle()
    seen: list[int] = []
    for _ in range(3):
        await mirror.pass_time(minutes=1)
        await mirror.connect()
        before = len(world.record.calls)
        report = await mirror.cycle()
        assert report.reconcile_calls == 2
        seen += [call.channel for call in world.record.calls[before:] if call.method == PAGES]
    assert sorted(seen) == sorted(channel.id for channel in made)
