"""A mirror in the test's own process: the real client on a loopback Telegram, a real database, and its clock held."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from tests.platforms.drawer import Drawer
from tests.platforms.telegram.people import PHONE, account, finding, signed_in_before
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import MirrorOptions
from tidegate.core.account import Account
from tidegate.core.clock import SystemClock
from tidegate.core.ids import ChannelId, UserId
from tidegate.cycles.cycle import CyclePolicy, run_cycle
from tidegate.cycles.cycle_report import CycleReport
from tidegate.database.pool import Database
from tidegate.history.newest_reconciliation import reconcile
from tidegate.history.queries import channel_histories
from tidegate.lanes import Lane, SendLimits
from tidegate.lanes.queries.calls import CallLog
from tidegate.lanes.rules.slowdown_after_warning import Allowance
from tidegate.loopback.database_clock import hold
from tidegate.loopback.owned_account import add_account, open_lane
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.private_chats import peer_of
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.telegram.chats.chat_numbers import ChatNumbers
from tidegate.platforms.telegram.connector import telegram_opener
from tidegate.scans.channel_catalogue import sync_channels
from tidegate.scans.queries import scan_memory
from tidegate.scans.scan_context import ScanContext

UNPACED = SendLimits(Allowance(ceiling=60_000, burst=10_000))


@dataclass
class Mirror:
    """One account of a loopback Telegram, mirrored cycle by cycle; ``pass_time`` moves the database's clock."""

    database: Database
    telegram: TelegramServer
    call_log: CallLog
    account: Account
    drawer: Drawer
    phone: str = PHONE
    policy: CyclePolicy = field(default_factory=CyclePolicy)
    lane: Lane | None = None
    epoch: int = 0

    @property
    def world(self) -> World:
        return self.telegram.world

    async def connect(self) -> Lane:
        """A lane as a worker has it; a second call is a restart."""
        if self.lane is not None:
            await self.lane.close()

        note, find, clock = self.call_log.connecting(self.account.id), finding(self.telegram), SystemClock()
        if not self.drawer.kept:
            signed_in_before(self.world, self.drawer, self.phone)
        known = replace(account(), id=self.account.id)  # the numbers of its private chats begin with it
        client = await telegram_opener(None, clock, find_loopback=find)(known, self.drawer, note)
        self.lane = await open_lane(
            self.account, client, self.call_log, self.database, epoch=lambda: self.epoch, sends=UNPACED
        )
        # The database's clock is held, so a bucket that begins empty would stay so.
        await self.database.pool.execute("UPDATE pace SET tat = clock_now() - interval '1 day'")
        return self.lane

    def number(self, channel: Channel) -> ChannelId:
        """Tidegate's number of a channel, or of the account's view of a private chat."""
        known = self.world.account_by_phone(self.phone)
        assert known is not None
        chat = ChatNumbers(self.account.id, UserId(known.id)).of(peer_of(channel))
        return ChannelId(channel.id) if chat is None else chat

    async def sync(self) -> None:
        assert self.lane is not None
        await sync_channels(self.lane, self.database)

    async def enable(
        self,
        channel: Channel,
        *topics: int,
        in_full: bool = False,
        hashed: bool = False,
        destination: Channel | None = None,
    ) -> None:
        async with self.database.transaction() as connection:
            kept = await channels.find(connection, str(self.number(channel)))
            target = None if destination is None else (await channels.find(connection, str(destination.id))).key
            await channels.enable(connection, kept, MirrorOptions(topics, in_full, hashed, target))

    async def ask(self, channel: Channel) -> None:
        async with self.database.transaction() as connection:
            await scan_memory.ask(connection, (await channels.find(connection, str(self.number(channel)))).key)

    async def cycle(self, *only: Channel) -> CycleReport:
        """One cycle; over *only* some channels where they are given."""
        assert self.lane is not None
        chosen = [self.number(one) for one in only] or None
        return await run_cycle(self.lane, self.database, SystemClock(), self.policy, only=chosen)

    async def compare(self, channel: Channel) -> None:
        """Compare the newest messages of a channel with the platform, as ``tidegate reconcile`` does."""
        assert self.lane is not None
        context = ScanContext(self.lane, self.database, None, self.policy.limits, self.policy.retries)
        async with self.database.connection() as connection:
            found = await channel_histories.of_reader(connection, self.account.id, numbers=[self.number(channel)])
        await reconcile(context, found, limit=self.policy.history.reconcile_limit)

    async def settle(self) -> None:
        """Cycles until nothing is left to read, so that a test begins with stored counters."""
        for _ in range(3):
            await self.cycle()
            await self.pass_time(hours=1)

    async def pass_time(self, **span: float) -> None:
        await self.database.pool.execute("UPDATE held_clock SET now = now + $1", timedelta(**span))

    @asynccontextmanager
    async def counted(self) -> AsyncIterator[Counter[str]]:
        """What the platform itself counts in the block."""
        before, counted = self.world.record.by_method(), Counter[str]()
        yield counted
        counted.update(self.world.record.by_method() - before)

    async def rows(self, query: str, *values: Any) -> list[asyncpg.Record]:
        return await self.database.pool.fetch(query, *values)

    async def names(self, channel: Channel) -> list[str]:
        """The names of all archive files that were found, in order of their messages."""
        rows = await self.rows(
            "SELECT p.name FROM archive_parts p JOIN channels c ON c.id = p.channel WHERE c.number = $1 "
            "ORDER BY p.message, p.name",
            channel.id,
        )
        return [row["name"] for row in rows]

    async def place(self, channel: Channel, topic: int = 0) -> asyncpg.Record:
        [row] = await self.rows(
            "SELECT p.*, c.state, c.reader FROM places p JOIN channels c ON c.id = p.channel "
            "WHERE c.number = $1 AND p.topic = $2",
            self.number(channel),
            topic,
        )
        return row

    def post_files(self, channel: Channel, names: Iterable[str], topic: int = 0) -> list[int]:
        """Somebody posts these files; the ids of their messages."""
        return [self.world.post(channel, file=self.world.add_file(name, 1_000), topic=topic).id for name in names]


@contextmanager
def unheard(channel: Channel) -> Iterator[Channel]:
    """Nobody is told of what is posted in the block: telling of many messages takes longer than reading them."""
    channel.pushes = False
    yield channel
    channel.pushes = True


@pytest.fixture
async def telegram(clock: SystemClock) -> AsyncIterator[TelegramServer]:
    """A running platform with two accounts and no channels; a method it does not know fails the test."""
    world = World(clock, seed=7)
    world.add_account(PHONE, "Ada")
    world.add_account("+1000002", "Bob")
    running = TelegramServer(world, clock)
    await running.start()
    yield running
    await running.close()
    assert world.record.unknown == []


@pytest.fixture
def world(telegram: TelegramServer) -> World:
    return telegram.world


@pytest.fixture
async def mirror(database: Database, telegram: TelegramServer) -> AsyncIterator[Mirror]:
    """The first account, signed in and connected; nothing is enabled yet."""
    await hold(database, datetime.now(UTC))
    call_log = CallLog(database, SystemClock())
    made = await make_mirror(database, telegram, call_log, "reader", PHONE)
    yield made
    assert made.lane is not None
    await made.lane.close()
    await call_log.close()


async def make_mirror(database: Database, telegram: TelegramServer, call_log: CallLog, name: str, phone: str) -> Mirror:
    made = Mirror(database, telegram, call_log, await add_account(database, name, TELEGRAM), Drawer(), phone)
    await made.connect()
    return made
