"""A reminder delivered in held time by Tidegate's own code, through a real lane to a Telegram that is far away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from bench._distance import Distance, FarWire
from bench._telegram import Drawer, Person
from tidegate.clock import HeldClock
from tidegate.lanes import Lane, ReadLimits, SendLimits
from tidegate.loopback.held import holding
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.mirror.listing import sync_channels
from tidegate.platforms.telegram import Loopback, sign_in, telegram_opener
from tidegate.platforms.telegram.client import TelegramAccount
from tidegate.reminders import controls, saving
from tidegate.reminders.deliver import Habits
from tidegate.reminders.deliveries import Deliveries
from tidegate.reminders.files import as_read
from tidegate.reminders.written import checked
from tidegate.rules.pacing import Allowance
from tidegate.store import accounts
from tidegate.store.calls import Ledger
from tidegate.store.database import Database
from tidegate.words import Account, Claim, Platform, Standing

T = TypeVar("T")

PHONE = "+1000001"
MORNING = datetime(2026, 11, 16, 9, tzinfo=UTC)
AT_ONCE = 3

_BESIDES = (
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "INSERT INTO CALLS",
    "SELECT PG_CURRENT_XACT_ID",
    "SELECT COUNT(*) FROM RUNS",
)
"""Statements that do not belong to the run: marks of transactions, the ledger, and the benchmark's own question."""


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
    """Counts the statements that a pool's connections make, but for the marks of transactions and the ledger's own."""

    count: int = 0

    async def watch(self, database: Database) -> None:
        """Count from now on; all connections are made first, so that what making one takes is not counted."""
        pool: Any = database.pool
        async with AsyncExitStack() as stack:
            for _ in pool._holders:
                await stack.enter_async_context(database.connection())
            for holder in pool._holders:
                holder._con.add_query_logger(self._note)

    def _note(self, record: Any) -> None:
        self.count += not record.query.strip().upper().startswith(_BESIDES)


@dataclass
class Shop:
    """An account whose reminders are delivered while ``serving``."""

    account: Account
    lane: Lane
    database: Database
    server: TelegramServer
    clock: HeldClock

    async def save(self, parts: list[dict[str, str]], files: dict[str, bytes]) -> None:
        reminder = checked({"name": "stock", "account": self.account.name, "all": True, "parts": parts})
        read = {name: as_read(name, content) for name, content in files.items()}
        async with self.database.transaction() as connection:
            await saving.add(connection, reminder, read)

    async def fire(self) -> None:
        async with self.database.transaction() as connection:
            await controls.fire(connection, "stock")

    async def deliver(self) -> None:
        """Deliver everything that is fired, in held time."""
        deliveries = Deliveries(self.database, self.clock, Habits(dice=lambda: 0.5, groups_at_once=AT_ONCE))
        working = asyncio.create_task(deliveries.work(self.lane))
        try:
            while await self.database.pool.fetchval("SELECT count(*) FROM runs WHERE state <> 'ended'"):
                assert not working.done(), working
                await self.clock.advance(timedelta(seconds=20))
        finally:
            working.cancel()
            await asyncio.wait([working])

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
    async with database.transaction() as connection:
        await accounts.add(connection, "shop", Platform.TELEGRAM, Standing.ESTABLISHED, loopback="http://127.0.0.1:1")
        account = (await accounts.find(connection, "shop")).account
    drawer, ledger = Drawer(), Ledger(database, clock)

    async def find(_: str) -> Loopback:
        return Loopback(server.address, server.public_key_pem)

    await sign_in(account, drawer, lambda _: None, Person(server.world, PHONE), find_loopback=find)
    client = await telegram_opener(None, clock, find_loopback=find)(account, drawer, lambda _: None)
    assert isinstance(client, TelegramAccount)
    far: Any = FarWire(client._wire, Distance(clock))
    client._wire = far
    lane = Lane(
        account,
        client,
        claim=lambda: Claim(account.id, 0, float("inf")),
        database=database,
        ledger=ledger,
        clock=clock,
        reads=ReadLimits(per_second=1_000, at_once=10),
        sends=SendLimits(Allowance(ceiling=per_minute), at_once=AT_ONCE),
    )
    await lane.load()
    shop = Shop(account, lane, database, server, clock)
    try:
        await shop.after(sync_channels(lane, database))
        yield shop
    finally:
        await lane.close()
        await ledger.close()
