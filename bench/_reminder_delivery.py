"""A reminder delivered in held time by Tidegate's own code, through a real lane to a Telegram that is far away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from bench._distant_platform import Distance, FarWire
from bench._telegram import Person
from tidegate.app.account_setup import SignedIn
from tidegate.core.account import Account, Standing
from tidegate.core.clock import HeldClock
from tidegate.database.pool import Database
from tidegate.lanes import Lane, SendLimits
from tidegate.lanes.queries.calls import CallLog
from tidegate.lanes.rules.pace_bucket import Pace
from tidegate.lanes.rules.slowdown_after_warning import Allowance
from tidegate.loopback.database_clock import holding
from tidegate.loopback.owned_account import add_account, open_lane
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.platforms.interface import SignInAttempt
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.telegram.account_sign_in import sign_in
from tidegate.platforms.telegram.client import TelegramAccount
from tidegate.platforms.telegram.connector import LoopbackTelegram, telegram_opener
from tidegate.reminders import reminder_changes
from tidegate.reminders.queries import reminders
from tidegate.reminders.reminder_files import as_read
from tidegate.reminders.reminder_parser import parse_reminder
from tidegate.reminders.runs import run_controls
from tidegate.reminders.runs.run_scheduler import RunScheduler
from tidegate.reminders.runs.run_worker import RunPolicy
from tidegate.scans.channel_catalogue import sync_channels

T = TypeVar("T")

PHONE = "+1000001"
MORNING = datetime(2026, 11, 16, 9, tzinfo=UTC)
AT_ONCE = 3

_BESIDES = (
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "NOTIFY",
    "SELECT CURRENT_SETTING('JIT')",
    "SELECT SET_CONFIG('JIT'",
    "WITH RECURSIVE TYPEINFO_TREE",
    "INSERT INTO CALLS",
    "SELECT PG_CURRENT_XACT_ID",
    "SELECT COUNT(*) FROM RUNS",
)
"""Statements that do not belong to the run: marks of transactions and the bell that rings after them, what a connection
learns once of a type, the ledger, and the benchmark's own question."""


@asynccontextmanager
async def far_telegram(database: Database, *, groups: int) -> AsyncIterator[tuple[TelegramServer, HeldClock]]:
    """A Telegram with so many groups, and the clock that it and the database go by; it is nine in the morning."""
    async with holding(database, MORNING) as clock:
        world = World(clock, seed=7)
        world.add_account(PHONE)
        for number in range(groups):
            world.add_channel(f"Group {number:04}").pushes = False
        server = TelegramServer(world, clock)
        await server.start()
        try:
            yield server, clock
        finally:
            await server.close()
    assert world.record.unknown == [], "the loopback Telegram was asked what it does not know"


@dataclass
class Queries:
    """Takes down the statements that a pool's connections make for a run, up to the claim of its first send."""

    asked: list[str] = field(default_factory=list)

    @property
    def before_first_claim(self) -> int:
        """How many there were; the claim itself is a part of every send."""
        [claim, *_] = [place for place, query in enumerate(self.asked) if "claim_send" in query]
        return claim

    async def watch(self, database: Database) -> None:
        """Take down from now on; all connections are made first, so that what making one takes is not among them."""
        pool: Any = database.pool
        async with AsyncExitStack() as stack:
            for _ in pool._holders:
                await stack.enter_async_context(database.connection())
            for holder in pool._holders:
                holder._con.add_query_logger(self._note)

    def _note(self, record: Any) -> None:
        query = " ".join(record.query.split())
        if not query.upper().startswith(_BESIDES):
            self.asked.append(query)


@dataclass
class Shop:
    """An account whose reminders are delivered while it is ``served``."""

    account: Account
    lane: Lane
    database: Database
    server: TelegramServer
    clock: HeldClock

    async def save(self, parts: list[dict[str, str]], files: dict[str, bytes]) -> None:
        reminder = parse_reminder({"name": "stock", "account": self.account.name, "all": True, "parts": parts})
        read = {name: as_read(name, content) for name, content in files.items()}
        async with self.database.transaction() as connection:
            await reminder_changes.add(connection, reminder, read)

    @asynccontextmanager
    async def served(self) -> AsyncIterator[RunScheduler]:
        """The account's owner looks after its runs, as it does before one is fired."""
        deliveries = RunScheduler(self.database, self.clock, RunPolicy(dice=lambda: 0.5, groups_at_once=AT_ONCE))
        working = asyncio.create_task(deliveries.work(self.lane))
        try:
            await self.clock.advance(timedelta(seconds=20))
            yield deliveries
        finally:
            assert not working.done(), working
            working.cancel()
            await asyncio.wait([working])

    async def fire(self, deliveries: RunScheduler) -> None:
        """Fire the reminder and tell the account's owner, as a command would."""
        async with self.database.transaction() as connection:
            await run_controls.fire(connection, await reminders.find(connection, "stock", lock=True))
        deliveries.look(self.account.id)

    async def deliver(self) -> None:
        """Deliver everything that is fired, in held time."""
        while await self.database.pool.fetchval("SELECT count(*) FROM runs WHERE state <> 'ended'"):
            await self.clock.advance(timedelta(seconds=20))

    async def after(self, work: Awaitable[T]) -> T:
        """What *work* comes to while time passes as it needs to."""
        task = asyncio.ensure_future(work)
        while not task.done():
            await self.clock.advance(timedelta(seconds=1))
        return await task


@asynccontextmanager
async def shop_on(
    database: Database, server: TelegramServer, clock: HeldClock, *, per_minute: int
) -> AsyncIterator[Shop]:
    """An account that is signed in, at that pace, and knows its groups."""
    account = await add_account(database, "shop", TELEGRAM, Standing.ESTABLISHED)
    drawer, call_log = SignedIn(), CallLog(database, clock)

    async def find(_: str) -> LoopbackTelegram:
        return LoopbackTelegram(server.address, server.public_key_pem)

    attempt = SignInAttempt(account, drawer, lambda _: None)
    await sign_in(attempt, Person(server.world, PHONE), find_loopback=find)
    client = await telegram_opener(None, clock, find_loopback=find)(account, drawer, lambda _: None)
    assert isinstance(client, TelegramAccount)
    far: Any = FarWire(client._connection, Distance(clock))
    client._connection = far
    sends = SendLimits(Allowance(ceiling=per_minute), at_once=AT_ONCE, chat=Pace(rate=20))  # as by default
    lane = await open_lane(account, client, call_log, database, clock=clock, sends=sends)
    shop = Shop(account, lane, database, server, clock)
    try:
        await shop.after(sync_channels(lane, database))
        yield shop
    finally:
        await lane.close()
        await call_log.close()
