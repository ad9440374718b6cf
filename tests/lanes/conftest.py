"""A lane on a small platform, with a held clock that the database follows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from tests.held import holding
from tests.small_platform import SmallPlatform
from tidegate.clock import HeldClock
from tidegate.lanes import Lane, ReadLimits, SendLimits
from tidegate.port import ChannelId, SendKey
from tidegate.rules.pacing import Allowance
from tidegate.store import accounts
from tidegate.store.calls import Ledger
from tidegate.store.database import Database
from tidegate.words import Account, Claim, Platform, Standing

T = TypeVar("T")

FORTY = SendLimits(Allowance(ceiling=40, floor=1), at_once=3)
QUICK = ReadLimits(per_second=1_000, at_once=100)


@dataclass
class Town:
    """A database, a clock and a ledger, and lanes opened on them."""

    database: Database
    clock: HeldClock
    ledger: Ledger
    deadline: float = float("inf")
    epoch: int = 0
    opened: list[Lane] = field(default_factory=list)

    async def account(self, name: str) -> Account:
        async with self.database.transaction() as connection:
            await accounts.add(connection, name, Platform.TELEGRAM, Standing.NORMAL, loopback=None)
            return (await accounts.find(connection, name)).account

    async def lane(
        self, account: Account, platform: Any, *, reads: ReadLimits = QUICK, sends: SendLimits = FORTY
    ) -> Lane:
        lane = Lane(
            account,
            platform,
            claim=lambda: Claim(account.id, self.epoch, self.deadline),
            database=self.database,
            ledger=self.ledger,
            clock=self.clock,
            reads=reads,
            sends=sends,
        )
        await lane.load()
        self.opened.append(lane)
        return lane

    async def after(self, seconds: float, work: Awaitable[T]) -> T:
        """What *work* comes to when that much time passes."""
        task = asyncio.ensure_future(work)
        await self.clock.advance(timedelta(seconds=seconds))
        assert task.done(), "it is still waiting"
        return await task

    async def ledgered(self) -> list[tuple[str, str]]:
        """Method and outcome of every call on the ledger."""
        await self.ledger.flush()
        return [tuple(row) for row in await self.database.pool.fetch("SELECT method, outcome FROM calls ORDER BY id")]


def text(number: int = 0) -> SendKey:
    return SendKey(f"key-{number}")


async def send_all(lane: Lane, channels: list[ChannelId], *, run: int | None = None) -> list[Awaitable[object]]:
    return await asyncio.gather(*(lane.send(channel, "hello", key=text(), run=run) for channel in channels))


def slower(limits: SendLimits, **changes: Any) -> SendLimits:
    return replace(limits, allowance=replace(limits.allowance, **changes))


@pytest.fixture
async def town(database: Database) -> AsyncIterator[Town]:
    async with holding(database) as clock:
        made = Town(database, clock, Ledger(database, clock))
        clock.busy_when(lambda: any(lane.calls_in_flight for lane in made.opened))
        yield made
        for lane in made.opened:
            await lane.close()
        await made.ledger.close()


@pytest.fixture
async def account(town: Town) -> Account:
    return await town.account("shop")


@pytest.fixture
def platform(town: Town) -> SmallPlatform:
    return SmallPlatform(town.clock)


@pytest.fixture
async def lane(town: Town, account: Account, platform: SmallPlatform) -> Lane:
    return await town.lane(account, platform)
