"""When cycles happen: at the start, now and then, on a hint, on command; and what joins them together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from tests.mirror.conftest import Mirror
from tests.mirror.test_contents import zipped
from tidegate.clock import SystemClock
from tidegate.errors import PlatformError
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.channels import Channel
from tidegate.mirror.cycle import CycleHabits
from tidegate.mirror.rounds import Rounds, Timetable
from tidegate.port import ChannelId

SOON = timedelta(milliseconds=10)


@pytest.fixture
async def channel(mirror: Mirror, world: World) -> Channel:
    """A channel, enabled and never scanned."""
    made = world.add_channel("News")
    await mirror.sync()
    await mirror.enable(made)
    return made


@asynccontextmanager
async def working(mirror: Mirror, every: timedelta | None) -> AsyncIterator[Rounds]:
    """The account being worked for in the block."""
    rounds = Rounds(mirror.database, SystemClock(), CycleHabits(), Timetable(every, SOON))
    await rounds.begin()
    assert mirror.lane is not None
    task = asyncio.create_task(rounds.work(mirror.lane))
    try:
        yield rounds
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled() and (problem := task.exception()) is not None:
            raise problem


async def cycles(mirror: Mirror) -> list[dict[str, Any]]:
    return [row["report"] for row in await mirror.rows("SELECT report FROM cycles ORDER BY id")]


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(20):
        while not await condition():
            await asyncio.sleep(0.01)


async def test_a_cycle_at_the_start_and_then_now_and_again(mirror: Mirror, channel: Channel) -> None:
    """Nobody has to ask; each full pass has the next number."""
    async with working(mirror, timedelta(milliseconds=50)):

        async def three() -> bool:
            return len(await cycles(mirror)) >= 3

        await until(three)
    numbers = [report["cycle"] for report in await cycles(mirror) if report["whole"]]
    assert len(numbers) > 1
    assert numbers == list(range(1, len(numbers) + 1))


async def test_a_hint_scans_its_channel_and_does_not_count_as_a_cycle(mirror: Mirror, channel: Channel) -> None:
    """A post is mirrored soon after it was made; the cycle number stays."""
    async with working(mirror, timedelta(hours=1)):

        async def times(number: int) -> bool:
            return len(await cycles(mirror)) == number

        await until(lambda: times(1))
        mirror.post_files(channel, ["hinted.zip"])
        await until(lambda: times(2))
    first, hinted = await cycles(mirror)
    assert (first["whole"], hinted["whole"], hinted["archives_found"]) == (True, False, 1)
    assert hinted["cycle"] == first["cycle"]


async def test_a_hint_of_a_channel_nobody_mirrors_costs_nothing(mirror: Mirror, world: World) -> None:
    """People talk in many channels; only those that are mirrored are looked at, and the feed stays quiet."""
    other = world.add_channel("Not mirrored")
    async with working(mirror, None) as rounds, mirror.counted() as calls:
        world.post(other, "talk")
        await rounds.desk(mirror.account.id).ask(ChannelId(other.id))
    assert not calls
    assert await cycles(mirror) == []


async def test_whoever_asks_during_a_cycle_shares_the_next(mirror: Mirror, channel: Channel) -> None:
    """S-61: three triggers while one runs: one more cycle, not three, not none."""
    async with working(mirror, None) as rounds:
        desk = rounds.desk(mirror.account.id)
        mirror.telegram.latency = timedelta(milliseconds=200)
        first = desk.ask(None)

        async def is_running() -> bool:
            return not desk.is_asked

        await until(is_running)
        others = [desk.ask(None), desk.ask(ChannelId(channel.id)), desk.ask(None)]
        assert not first.done()
        reports = await asyncio.gather(first, *others)
    assert [report.cycle for report in reports] == [1, 2, 2, 2]
    assert len(await cycles(mirror)) == 2


async def test_a_cycle_that_fails_is_told_to_whoever_asked(mirror: Mirror, channel: Channel) -> None:
    """The sentence goes to the asker and on to whoever serves the account; nothing counts as a cycle."""
    rounds = Rounds(mirror.database, SystemClock(), CycleHabits(), Timetable(None, SOON))
    assert mirror.lane is not None
    task = asyncio.create_task(rounds.work(mirror.lane))
    mirror.world.faults.add(Fault(FaultKind.ERROR, "messages.getPeerDialogs", code="400 INPUT_BOGUS"))
    for asked in (rounds.desk(mirror.account.id).ask(None), task):
        with pytest.raises(PlatformError, match="INPUT_BOGUS"):
            await asked
    assert await cycles(mirror) == []


async def test_connecting_is_counted_apart_in_the_first_report(mirror: Mirror, channel: Channel) -> None:
    """What the library sends by itself since the process began stands beside the cycle's own calls, once."""
    rounds = Rounds(mirror.database, SystemClock(), CycleHabits(), Timetable(None, SOON))
    await mirror.ledger.flush()
    await rounds.begin()
    lane = await mirror.connect()
    task = asyncio.create_task(rounds.work(lane))
    first = await rounds.desk(mirror.account.id).ask(None)
    second = await rounds.desk(mirror.account.id).ask(None)
    task.cancel()
    await asyncio.wait([task])
    assert first.connect_calls > 0
    assert second.connect_calls == 0


async def test_what_archives_cost_is_told_apart(mirror: Mirror, channel: Channel) -> None:
    """The cycle's own calls and those for what is inside archives are two sums, and together they are the ledger's."""
    rounds = Rounds(mirror.database, SystemClock(), CycleHabits(), Timetable(None, SOON))
    await mirror.ledger.flush()
    await rounds.begin()
    lane = await mirror.connect()
    mirror.world.post(channel, file=mirror.world.add_content("a.zip", zipped("a.stl")))
    task = asyncio.create_task(rounds.work(lane))
    async with mirror.counted() as counted:
        report = await rounds.desk(mirror.account.id).ask(None)
    task.cancel()
    await asyncio.wait([task])
    assert "upload.getFile" not in report.calls
    assert report.indexing_calls["upload.getFile"] == 1
    assert Counter(report.calls) + Counter(report.indexing_calls) == counted
    rows = await mirror.rows("SELECT method, count(*) FROM calls WHERE kind = 'work' AND cycle = 1 GROUP BY method")
    assert {row["method"]: row["count"] for row in rows} == counted
    [kept] = await cycles(mirror)
    assert kept == report.as_json()
