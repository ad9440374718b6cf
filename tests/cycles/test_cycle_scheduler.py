"""When cycles happen: at the start, now and then, on a hint, on command; and what joins them together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archives.zip_writer import zipped
from tests.cycles.running_scheduler import SOON, cycles, working
from tests.scenes.telegram_mirror import Mirror
from tests.waiting import until
from tidegate.archives.contents_indexer import SETS_IN_A_ROW, index_waiting_sets
from tidegate.archives.queries import archive_list
from tidegate.core.clock import SystemClock
from tidegate.core.errors import PlatformError
from tidegate.core.ids import ChannelId
from tidegate.cycles.cycle import CyclePolicy
from tidegate.cycles.schedule.cycle_scheduler import CycleScheduler
from tidegate.cycles.schedule.cycle_timetable import JITTER, CycleTimetable
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel


@pytest.fixture
async def channel(mirror: Mirror, world: World) -> Channel:
    """A channel, enabled and never scanned."""
    made = world.add_channel("News")
    await mirror.sync()
    await mirror.enable(made)
    return made


async def test_a_cycle_at_the_start_and_then_now_and_again(mirror: Mirror, channel: Channel) -> None:
    """Nobody has to ask; each full pass has the next number."""
    often = timedelta(milliseconds=50)
    async with working(mirror, often, every_live=often):

        async def three() -> bool:
            return len(await cycles(mirror)) >= 3

        await until(three)
    numbers = [report["cycle"] for report in await cycles(mirror) if report["whole"]]
    assert len(numbers) > 1
    assert numbers == list(range(1, len(numbers) + 1))


async def test_a_gap_has_its_channel_scanned_and_that_does_not_count_as_a_cycle(
    mirror: Mirror, channel: Channel
) -> None:
    """After the first search the counter lies a little back, so news does not follow on it: a look makes it good."""
    async with working(mirror, timedelta(hours=1)):

        async def times(number: int) -> bool:
            return len(await cycles(mirror)) == number

        await until(lambda: times(1))
        mirror.post_files(channel, ["hinted.zip"])
        await until(lambda: times(2))
    first, hinted = await cycles(mirror)
    assert (first["whole"], hinted["whole"]) == (True, False)
    assert hinted["cycle"] == first["cycle"]
    assert await mirror.names(channel) == ["hinted.zip"]
    assert (await mirror.place(channel))["changes"] == channel.pts


async def test_a_hint_of_a_channel_nobody_mirrors_costs_nothing(mirror: Mirror, world: World) -> None:
    """People talk in many channels; only those that are mirrored are looked at, and the feed stays quiet."""
    other = world.add_channel("Not mirrored")
    async with working(mirror, None) as rounds, mirror.counted() as calls:
        world.post(other, "talk")
        await rounds.requests(mirror.account.id).ask(ChannelId(other.id))
    assert not calls
    assert await cycles(mirror) == []


async def test_whoever_asks_during_a_cycle_shares_the_next(mirror: Mirror, channel: Channel) -> None:
    """S-61: three triggers while one runs: one more cycle, not three, not none."""
    async with working(mirror, None) as rounds:
        requests = rounds.requests(mirror.account.id)
        mirror.telegram.latency = timedelta(milliseconds=200)
        first = requests.ask(None)

        async def is_running() -> bool:
            return not requests.is_asked

        await until(is_running)
        others = [requests.ask(None), requests.ask(ChannelId(channel.id)), requests.ask(None)]
        assert not first.done()
        reports = await asyncio.gather(first, *others)
    assert [report.cycle for report in reports] == [1, 2, 2, 2]
    assert len(await cycles(mirror)) == 2


async def test_a_cycle_that_fails_is_told_to_whoever_asked(mirror: Mirror, channel: Channel) -> None:
    """The sentence goes to the asker and on to whoever serves the account; nothing counts as a cycle."""
    rounds = CycleScheduler(mirror.database, SystemClock(), CyclePolicy(), CycleTimetable(None, SOON))
    assert mirror.lane is not None
    task = asyncio.create_task(rounds.work(mirror.lane))
    mirror.world.faults.add(Fault(FaultKind.ERROR, "messages.getPeerDialogs", code="400 INPUT_BOGUS"))
    for asked in (rounds.requests(mirror.account.id).ask(None), task):
        with pytest.raises(PlatformError, match="INPUT_BOGUS"):
            await asked
    assert await cycles(mirror) == []


async def test_connecting_is_counted_apart_in_the_first_report(mirror: Mirror, channel: Channel) -> None:
    """What the library sends by itself since the process began stands beside the cycle's own calls, once."""
    rounds = CycleScheduler(mirror.database, SystemClock(), CyclePolicy(), CycleTimetable(None, SOON))
    await mirror.call_log.flush()
    await rounds.begin()
    lane = await mirror.connect()
    task = asyncio.create_task(rounds.work(lane))
    first = await rounds.requests(mirror.account.id).ask(None)
    second = await rounds.requests(mirror.account.id).ask(None)
    task.cancel()
    await asyncio.wait([task])
    assert first.connect_calls > 0
    assert second.connect_calls == 0


async def test_what_archives_cost_is_told_apart(mirror: Mirror, channel: Channel) -> None:
    """The cycle's own calls and those for what is inside archives are two sums, and together they are the ledger's."""
    rounds = CycleScheduler(mirror.database, SystemClock(), CyclePolicy(), CycleTimetable(None, SOON))
    await mirror.call_log.flush()
    await rounds.begin()
    lane = await mirror.connect()
    mirror.world.post(channel, file=mirror.world.add_content("a.zip", zipped("a.stl")))
    task = asyncio.create_task(rounds.work(lane))
    async with mirror.counted() as counted:
        report = await rounds.requests(mirror.account.id).ask(None)
    task.cancel()
    await asyncio.wait([task])
    assert "upload.getFile" not in report.calls
    assert report.indexing_calls["upload.getFile"] == 1
    assert Counter(report.calls) + Counter(report.indexing_calls) == counted
    rows = await mirror.rows("SELECT method, count(*) FROM calls WHERE kind = 'work' AND cycle = 1 GROUP BY method")
    assert {row["method"]: row["count"] for row in rows} == counted
    [kept] = await cycles(mirror)
    assert kept == report.as_json()


# How far apart


@given(
    every=st.timedeltas(timedelta(seconds=1), timedelta(hours=4)),
    live=st.booleans(),
    dice=st.floats(0, 1),
)
def test_the_pause_is_the_interval_and_a_little_more(every: timedelta, live: bool, dice: float) -> None:
    """The dice are given, so that accounts do not move in step and a test knows when; live is never sooner."""
    times = CycleTimetable(every, every_live=timedelta(hours=4), dice=lambda: dice)
    base = timedelta(hours=4) if live else every
    pause = times.pause(live=live)
    assert pause is not None
    assert base <= pause <= base * (1 + JITTER) + timedelta(microseconds=1)


def test_without_an_interval_nothing_happens_unasked() -> None:
    """A command that serves the account for its duration makes no cycle but its own."""
    assert CycleTimetable(None).pause(live=True) is None


async def next_cycle_in(mirror: Mirror) -> timedelta | None:
    [row] = await mirror.rows("SELECT next_cycle_at - clock_now() AS left FROM accounts")
    return row["left"]


async def test_while_the_platform_tells_everything_cycles_are_a_safety_net(mirror: Mirror, channel: Channel) -> None:
    """A cycle that finds nothing untold is followed by one in four hours, any other by one in an hour."""
    await mirror.settle()
    async with working(mirror, timedelta(hours=1)):

        async def in_four_hours() -> bool:
            return timedelta(hours=3) < (await next_cycle_in(mirror) or timedelta()) <= timedelta(hours=4)

        await until(in_four_hours)
    channel.pushes = False  # large groups are not told of at all
    mirror.post_files(channel, ["untold.zip"])
    async with working(mirror, timedelta(hours=1)):

        async def in_an_hour() -> bool:
            return timedelta() < (await next_cycle_in(mirror) or timedelta()) <= timedelta(hours=1)

        await until(in_an_hour)
    assert await mirror.names(channel) == ["untold.zip"]


async def test_a_channel_that_was_just_enabled_does_not_wait_for_the_next_cycle(
    mirror: Mirror, channel: Channel, world: World
) -> None:
    """It is scanned when the desk is next looked at, alone, and is no cycle."""
    other = world.add_channel("Other")
    mirror.post_files(other, ["early.zip"])
    await mirror.sync()
    async with working(mirror, timedelta(hours=1), look_every=SOON):

        async def times(number: int) -> bool:
            return len(await cycles(mirror)) >= number

        async def found() -> bool:
            return await times(2) and await mirror.names(other) == ["early.zip"]

        await until(lambda: times(1))
        await mirror.enable(other)
        await until(found)
    assert [report["whole"] for report in await cycles(mirror)][:2] == [True, False]


async def test_a_retry_asked_for_by_hand_does_not_wait_for_the_next_cycle(mirror: Mirror, channel: Channel) -> None:
    """due-failure-never-skipped: `archive retry` is honoured at the next look, although the cycle is hours away."""
    mirror.post_files(channel, ["broken.zip"])
    mirror.world.faults.add(Fault(FaultKind.ERROR, "upload.getFile", count=1, code="400 LOCATION_INVALID"))
    async with working(mirror, timedelta(hours=1), look_every=SOON):

        async def failed() -> bool:
            return bool(await mirror.rows("SELECT 1 FROM failures"))

        async def retried() -> bool:
            return any(report["failures_retried"] for report in await cycles(mirror))

        await until(failed)
        assert len(await cycles(mirror)) == 1
        await mirror.pass_time(minutes=1)
        async with mirror.database.transaction() as connection:
            await archive_list.ask_again(connection, None, None)
        await until(retried)


async def test_a_set_is_judged_when_it_has_been_quiet_and_not_at_the_next_cycle(
    mirror: Mirror, channel: Channel
) -> None:
    """Two equal parts tell no end: an hour later the set is whole, with no call in between."""
    mirror.post_files(channel, ["a.part1.rar", "a.part2.rar"])
    async with working(mirror, timedelta(hours=4), look_every=SOON):

        async def state(wanted: str) -> bool:
            return [row["state"] for row in await mirror.rows("SELECT state FROM archives")] == [wanted]

        await until(lambda: state("collecting"))
        await until(lambda: has_next_cycle(mirror))
        before = mirror.world.record.by_method()["messages.getPeerDialogs"]
        await mirror.pass_time(minutes=61)
        await until(lambda: not_(state("collecting")))
        assert mirror.world.record.by_method()["messages.getPeerDialogs"] == before


async def has_next_cycle(mirror: Mirror) -> bool:
    return await next_cycle_in(mirror) is not None


async def not_(condition: Awaitable[bool]) -> bool:
    return not await condition


async def test_more_archives_than_fit_in_a_turn_need_no_further_cycle(mirror: Mirror, channel: Channel) -> None:
    """What a full turn left is read in the next, at once, and between the two other wishes have theirs."""
    mirror.post_files(channel, [f"{number}.pdf" for number in range(SETS_IN_A_ROW + 5)])
    async with working(mirror, timedelta(hours=1)):

        async def all_read() -> bool:
            rows = await mirror.rows("SELECT state FROM archives")
            return len(rows) == SETS_IN_A_ROW + 5 and {row["state"] for row in rows} == {"filed"}

        await until(all_read)
    assert len([report for report in await cycles(mirror) if report["whole"]]) == 1


@pytest.mark.parametrize("hours", [1, -1, 3, 48])
async def test_a_clock_that_jumps_leaves_failures_their_rest(mirror: Mirror, channel: Channel, hours: int) -> None:
    """A failure rests for two hours. Whichever way the clock is set meanwhile, it still does, and no try is spent."""
    file = mirror.world.add_content("a.zip", zipped("a.stl"))
    mirror.world.post(channel, file=file)
    mirror.world.faults.add(Fault(FaultKind.ERROR, "upload.getFile", code="400 LOCATION_INVALID", count=100))

    async def rests() -> bool:
        [row] = await mirror.rows("SELECT attempts, next_try_at - clock_now() AS rest FROM failures")
        return row["attempts"] == 2 and abs(row["rest"] - timedelta(hours=2)) < timedelta(minutes=1)

    async def first_look() -> bool:
        return bool(await mirror.rows("SELECT 1 FROM accounts WHERE next_cycle_at IS NOT NULL"))

    await mirror.cycle()
    assert mirror.lane is not None
    await index_waiting_sets(mirror.lane, mirror.database, mirror.policy.retries)
    await mirror.rows("UPDATE failures SET attempts = 2, next_try_at = clock_now() + interval '2 h'")
    async with working(mirror, timedelta(hours=1), look_every=timedelta(milliseconds=20)):
        await until(first_look)
        await mirror.pass_time(hours=hours)
        await until(rests)
