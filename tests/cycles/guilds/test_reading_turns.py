"""Many channels read at once under Discord's limits: fair, without a refused call, and in the background."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.cycles.guilds.conftest import COUNTING, GuildMirror, channels_of
from tests.waiting import PATIENCE
from tidegate.cycles.guild_cycle import look_around
from tidegate.history.backfill import Backfill, backfill
from tidegate.history.rules.backfill_plan import PortionBudget
from tidegate.lanes import background_reads
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.places import Channel, Guild
from tidegate.platforms.interface import HistoryPage

ONE_CURSOR = PortionBudget(batches=1)


@pytest.fixture
async def five(mirror: GuildMirror, world: World, guild: Guild) -> list[Channel]:
    """Five channels of six pages each, five calls a channel in half a second."""
    made = channels_of(world, guild, [590] * 5)
    await mirror.connect()
    await look_around(mirror.context)
    world.limits.scale = 0.1
    return made


async def read(mirror: GuildMirror, made: list[Channel], concurrency: int | None = None) -> Backfill:
    policy = replace(COUNTING.history, concurrency=concurrency, budget=ONE_CURSOR)
    async with asyncio.timeout(PATIENCE):
        return await backfill(mirror.context, policy, [await mirror.history(one) for one in made])


async def pages_in_order(mirror: GuildMirror) -> list[int]:
    """The channel of each page, in the order in which they were stored."""
    told = await mirror.rows("SELECT data FROM events WHERE kind = 'backfill.progressed' ORDER BY id")
    return [row["data"]["channel"] for row in told]


async def test_channels_take_turns_by_their_limits(mirror: GuildMirror, five: list[Channel]) -> None:
    """No call is refused, and a channel whose limit is used up lets all others go first."""
    done = await read(mirror, five)
    assert done.as_json()["failed"] == 0
    assert await mirror.equals_truth(*five)
    await mirror.lane.write_ledger()
    assert await mirror.rows("SELECT FROM calls WHERE outcome = 'asked_to_wait'") == []
    order = await pages_in_order(mirror)
    assert set(order[: 5 * 5 + 4]) == {one.id for one in five}
    assert {one.calls for one in done.channels} == {6}


async def test_the_ceiling_of_the_operator_binds(mirror: GuildMirror, five: list[Channel]) -> None:
    """BACKFILL_CONCURRENCY of one: never more than one channel is asked for at a time."""
    asking, most = 0, 0
    page = mirror.lane.gate.client.page  # type: ignore[attr-defined]

    async def counted(*arguments: object, **named: object) -> HistoryPage:
        nonlocal asking, most
        asking += 1
        most = max(most, asking)
        try:
            answer: HistoryPage = await page(*arguments, **named)
            return answer
        finally:
            asking -= 1

    mirror.lane.gate.client.page = counted  # type: ignore[attr-defined]
    await read(mirror, five[:3], concurrency=1)
    assert await mirror.equals_truth(*five[:3])
    assert most == 1


async def test_histories_are_read_in_the_background(mirror: GuildMirror, five: list[Channel]) -> None:
    """Whatever else the account reads goes first, because every page gives way to it."""
    seen: set[bool] = set()
    page = mirror.lane.page

    async def noted(*arguments: object, **named: object) -> HistoryPage:
        seen.add(background_reads.is_in_background())
        return await page(*arguments, **named)  # type: ignore[arg-type]

    mirror.lane.page = noted  # type: ignore[method-assign, assignment]
    await read(mirror, five[:2])
    assert seen == {True}
    assert not background_reads.is_in_background()
