"""Lane, flood, account (scenarios E): two accounts on one platform, and one clock for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest

from tests.held import holding
from tests.platforms.drawer import Drawer
from tests.platforms.telegram.people import PHONE, finding, signed_in_before
from tests.scenes.telegram_mirror import Mirror, make_mirror
from tests.waiting import until
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import MirrorOptions
from tidegate.core.clock import HeldClock
from tidegate.core.errors import SignedOut
from tidegate.core.ids import ChannelId
from tidegate.cycles.cycle import CyclePolicy, run_cycle
from tidegate.cycles.cycle_report import CycleReport
from tidegate.cycles.schedule.cycle_scheduler import CycleScheduler
from tidegate.cycles.schedule.cycle_timetable import CycleTimetable
from tidegate.database.pool import Database
from tidegate.lanes import Lane
from tidegate.lanes.queries.calls import CallLog
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.owned_account import add_account, open_lane
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.telegram.connector import telegram_opener
from tidegate.scans.channel_catalogue import sync_channels

BOB = "+1000002"
FILES, PAGE = 150, 60


@dataclass
class Neighbours:
    """Ada and Bob, each with a channel that only they see, never scanned."""

    database: Database
    clock: HeldClock
    server: TelegramServer
    lanes: dict[str, Lane]
    channels: dict[str, Channel]

    def searches(self, phone: str) -> int:
        calls = self.server.world.record.calls
        return sum(call.method == "messages.search" and f"+{call.account}" == phone for call in calls)

    async def cycle(self, phone: str) -> CycleReport:
        return await run_cycle(self.lanes[phone], self.database, self.clock, CyclePolicy())

    async def found(self, phone: str) -> int:
        number = self.channels[phone].id
        return await self.database.pool.fetchval(
            "SELECT count(*) FROM archive_parts p JOIN channels c ON c.id = p.channel WHERE c.number = $1", number
        )

    def flood_on_page(self, phone: str, page: int, seconds: float) -> None:
        """That page of this account's search is answered with a wait."""
        lane, asked = self.lanes[phone], []
        files = lane.files

        async def flooded(*arguments: object, **otherwise: object) -> object:
            asked.append(1)
            if len(asked) == page:
                fault = Fault(FaultKind.WAIT, "messages.search", seconds=seconds, account=phone.lstrip("+"))
                self.server.world.faults.add(fault)
            return await files(*arguments, **otherwise)

        lane.files = flooded


@pytest.fixture
async def neighbours(database: Database) -> AsyncIterator[Neighbours]:
    async with AsyncExitStack() as stack:
        clock = await stack.enter_async_context(holding(database))
        world = World(clock, seed=7)
        world.limits.page = PAGE
        for phone in (PHONE, BOB):
            world.add_account(phone)
        server = TelegramServer(world, clock)
        await server.start()
        stack.push_async_callback(server.close)
        clock.busy_when(lambda: server.busy)
        made = Neighbours(database, clock, server, {}, {})
        for phone in (PHONE, BOB):
            made.channels[phone] = channel = world.add_channel(f"Of {phone}")
            owner = world.account_by_phone(phone)
            assert owner is not None
            channel.members = {owner.id}
            for number in range(FILES):
                world.post(channel, file=world.add_file(f"{number}.pdf", 10))
            made.lanes[phone] = await stack.enter_async_context(_lane(made, phone))
            await sync_channels(made.lanes[phone], database)
            async with database.transaction() as connection:
                await channels.enable(connection, await channels.find(connection, channel.title), MirrorOptions())
        yield made


@asynccontextmanager
async def _lane(town: Neighbours, phone: str) -> AsyncIterator[Lane]:
    database, clock = town.database, town.clock
    account = await add_account(database, phone, TELEGRAM)
    drawer, call_log = Drawer(), CallLog(database, clock)
    signed_in_before(town.server.world, drawer, phone)
    note = call_log.connecting(account.id)
    client = await telegram_opener(None, clock, find_loopback=finding(town.server))(account, drawer, note)
    lane = await open_lane(account, client, call_log, database, clock=clock)
    clock.busy_when(lambda: lane.gate.in_flight > 0)
    yield lane
    await lane.close()
    await call_log.close()


async def test_s42_s43_a_flood_parks_one_accounts_search_and_nobody_else(neighbours: Neighbours) -> None:
    """S-42, S-43: Ada's search waits 300 s at its second page, holds up no cycle, and then goes on there."""
    neighbours.flood_on_page(PHONE, 2, 300)
    channel = ChannelId(neighbours.channels[PHONE].id)
    parked = await neighbours.cycle(PHONE)
    assert (parked.parked.keys(), parked.troubles) == ({channel}, [])
    await neighbours.clock.advance(timedelta(seconds=10))
    bob = await neighbours.cycle(BOB)
    assert bob.tally.files == FILES
    again = asyncio.create_task(neighbours.lanes[PHONE].files(channel))
    await neighbours.clock.advance(timedelta(seconds=280))
    assert (await neighbours.cycle(PHONE)).parked.keys() == {channel}
    await neighbours.clock.advance(timedelta(seconds=9))
    assert (neighbours.searches(PHONE), again.done()) == (2, False)
    await neighbours.clock.advance(timedelta(seconds=10))
    report = await neighbours.cycle(PHONE)
    await again
    assert (parked.tally.files + report.tally.files, report.troubles) == (FILES, [])
    # Ada: as many pages as Bob's, the one that was refused, and the one wanted besides.
    assert neighbours.searches(PHONE) == neighbours.searches(BOB) + 2
    assert await neighbours.found(PHONE) == FILES
    assert await neighbours.database.pool.fetchval("SELECT count(*) FROM failures") == 0


async def test_a_parked_search_goes_on_by_itself_when_its_time_has_come(neighbours: Neighbours) -> None:
    """S-42 as a worker does it: nobody asks again, and no call is made before the 300 s are over."""
    neighbours.flood_on_page(PHONE, 2, 300)
    rounds = CycleScheduler(neighbours.database, neighbours.clock, CyclePolicy(), CycleTimetable(timedelta(days=1)))
    await rounds.begin()
    working = asyncio.create_task(rounds.work(neighbours.lanes[PHONE]))
    try:
        await until(lambda: neighbours.searches(PHONE) == 2)
        await neighbours.clock.advance(timedelta(seconds=295))
        assert neighbours.searches(PHONE) == 2
        await neighbours.clock.advance(timedelta(seconds=10))
        await until(lambda: _equals(neighbours.found(PHONE), FILES))
    finally:
        working.cancel()
        await asyncio.wait([working])


async def _equals(found: Awaitable[int], wanted: int) -> bool:
    return await found == wanted


async def test_s44_a_short_flood_is_waited_for_in_sight(neighbours: Neighbours) -> None:
    """S-44: four seconds are the lane's to wait: on record with their end, told in the feed, no call before it."""
    neighbours.flood_on_page(PHONE, 1, 4)
    ada = asyncio.create_task(neighbours.cycle(PHONE))
    await until(lambda: neighbours.searches(PHONE) == 1)
    await neighbours.clock.advance(timedelta(seconds=1))
    pool = neighbours.database.pool
    [wait] = await pool.fetch("SELECT kind, key, until - clock_now() AS left FROM waits")
    assert (wait["kind"], wait["key"]) == ("method", "messages.search")
    assert timedelta(seconds=2) < wait["left"] <= timedelta(seconds=4)
    assert await pool.fetchval("SELECT count(*) FROM events WHERE kind = 'lane.paused'") == 1
    await neighbours.clock.advance(timedelta(seconds=2))
    assert neighbours.searches(PHONE) == 1
    await neighbours.clock.advance(timedelta(seconds=2))
    assert (await ada).tally.files == FILES


async def test_s45_a_signed_out_account_hands_its_channels_over(mirror: Mirror, world: World) -> None:
    """S-45: marked as lost, its lane stopped; whoever else sees the channel reads it from then on."""
    channel = world.add_channel("Shared")
    mirror.post_files(channel, ["first.zip"])
    other = await make_mirror(mirror.database, mirror.telegram, mirror.call_log, "second", BOB)
    try:
        await mirror.sync()
        await other.sync()
        await mirror.enable(channel)
        await mirror.cycle()
        mirror.post_files(channel, ["second.zip"])
        world.faults.add(Fault(FaultKind.SIGNED_OUT, account=PHONE.lstrip("+")))
        with pytest.raises(SignedOut):
            await mirror.cycle()
        [row] = await mirror.rows("SELECT state FROM accounts WHERE name = 'reader'")
        assert row["state"] == "signed_out"
        async with mirror.counted() as calls:
            with pytest.raises(SignedOut):
                await mirror.cycle()
        assert not calls
        assert (await other.cycle()).gated == 1
        assert await mirror.names(channel) == ["first.zip", "second.zip"]
        assert (await mirror.place(channel))["reader"] == other.account.id
    finally:
        assert other.lane is not None
        await other.lane.close()
