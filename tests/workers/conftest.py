"""Workers inside the test's own process, against the counting platform."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.waiting import until
from tidegate.accounts.queries import accounts
from tidegate.accounts.queries.accounts import ListedAccount
from tidegate.app.composition import Runtime, allowance_of, run_worker
from tidegate.app.settings import Settings
from tidegate.core.account import Standing
from tidegate.core.clock import SystemClock
from tidegate.core.ids import AccountId, ChannelId
from tidegate.core.platform import Platform, registered_platforms
from tidegate.database.pool import Address, Database
from tidegate.lanes import Lane
from tidegate.lanes.queries import pace
from tidegate.loopback.counting_client import counting_opener
from tidegate.loopback.counting_platform import CountingPlatform
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.interface import Opener
from tidegate.workers.command_loop import Handler

SHORT = timedelta(seconds=6)


async def look_around(lane: Lane) -> None:
    while True:
        await lane.heads([ChannelId(1)])
        await SystemClock().sleep(timedelta(milliseconds=50))


class Engine:
    """A database, a platform, and workers started in this process."""

    def __init__(self, address: Address, database: Database, platform: CountingPlatform, at: str, home: Path) -> None:
        self.address = address
        self.database = database
        self.platform = platform
        self.opener = counting_opener(at)
        self._home = home

    async def add(self, name: str, platform: Platform = DISCORD) -> AccountId:
        async with self.database.transaction() as connection:
            number = await accounts.add(connection, name, platform, Standing.NORMAL, loopback="http://127.0.0.1:1")
            await pace.set_pace(connection, number, allowance_of(Settings(), platform, Standing.NORMAL))
        return number

    async def find(self, name: str) -> ListedAccount:
        async with self.database.connection() as connection:
            return await accounts.find(connection, name)

    @asynccontextmanager
    async def worker(
        self,
        name: str,
        *,
        opener: Opener | None = None,
        work: Callable[[Lane], Awaitable[None]] = look_around,
        seats: int = 100,
        handlers: Mapping[str, Handler] | None = None,
    ) -> AsyncIterator[asyncio.Task[None]]:
        """A worker for the time of the block; it leaves in order at its end."""
        settings = Settings(
            home=self._home, database_url=SecretStr(self.address.url), worker_name=name, seats=seats, time_out=SHORT
        )
        stop, database = asyncio.Event(), await Database.open(self.address)
        openers = dict.fromkeys(registered_platforms(), opener or self.opener)
        task = asyncio.create_task(
            run_worker(Runtime(settings, database), openers=openers, work=work, stop=stop, handlers=handlers),
            name=f"worker {name}",
        )
        try:
            yield task
        finally:
            stop.set()
            await asyncio.wait([task])
            await database.close()

    async def until(self, condition: Callable[[], Awaitable[object]]) -> None:
        await until(condition)

    async def until_called(self, account: str, times: int = 1) -> None:
        """Until the platform got that many more calls for the account."""
        enough = self.calls(account) + times

        async def is_so() -> bool:
            return self.calls(account) >= enough

        await self.until(is_so)

    def calls(self, account: str) -> int:
        return sum(call.account == account for call in self.platform.record.calls)


@pytest.fixture
async def engine(address: Address, database: Database, test_folder: Path) -> AsyncIterator[Engine]:
    platform = CountingPlatform(SystemClock())
    yield Engine(address, database, platform, await platform.start(), test_folder / "home")
    await platform.close()
