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
from tidegate.accounts.queries import accounts
from tidegate.core.account import Account, Claim, Standing
from tidegate.core.clock import HeldClock
from tidegate.core.ids import ChannelId
from tidegate.database.pool import Database
from tidegate.lanes import CallGate, Lane, ReadLimits, SendLimits
from tidegate.lanes.queries.calls import CallLog
from tidegate.lanes.rules.slowdown_after_warning import Allowance
from tidegate.platforms.interface import SendKey
from tidegate.platforms.telegram import TELEGRAM

T = TypeVar("T")

FORTY = SendLimits(Allowance(ceiling=40, floor=1), at_once=3)
QUICK = ReadLimits(per_second=1_000, at_once=100)


@dataclass
class Town:
    """A database, a clock and a ledger, and lanes opened on them."""

    database: Database
    clock: HeldClock
    call_log: CallLog
    deadline: float = float("inf")
    epoch: int = 0
    opened: list[Lane] = field(default_factory=list)

    async def account(self, name: str) -> Account:
        async with self.database.transaction() as connection:
            await accounts.add(connection, name, TELEGRAM, Standing.NORMAL, loopback=None)
            return (await accounts.find(connection, name)).account

    async def lane(
        self, account: Account, platform: Any, *, reads: ReadLimits = QUICK, sends: SendLimits = FORTY
    ) -> Lane:
        gate = CallGate(
            account,
            platform,
            claim=lambda: Claim(account.id, self.epoch, self.deadline),
            database=self.database,
            call_log=self.call_log,
            clock=self.clock,
            sends=sends,
        )
        await gate.load()
        lane = Lane(gate, reads=reads)
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
        await self.call_log.flush()
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
        made = Town(database, clock, CallLog(database, clock))
        clock.busy_when(lambda: any(lane.gate.in_flight for lane in made.opened))
        yield made
        for lane in made.opened:
            await lane.close()
        await made.call_log.close()


@pytest.fixture
async def account(town: Town) -> Account:
    return await town.account("shop")


@pytest.fixture
def platform(town: Town) -> SmallPlatform:
    return SmallPlatform(town.clock)


@pytest.fixture
async def lane(town: Town, account: Account, platform: SmallPlatform) -> Lane:
    return await town.lane(account, platform)
