"""A small world for stories: a database, the counting platform, and workers to be killed."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import asyncpg
import pytest

from tests.servers import OwnServer
from tidegate.app import allowance_of
from tidegate.clock import SystemClock
from tidegate.loopback.counting import CountingPlatform, Session
from tidegate.loopback.fleet import Orders, Task, keep_looking, start
from tidegate.settings import Settings
from tidegate.store import accounts, pace
from tidegate.store.database import Address, Database
from tidegate.store.programs import wheel_programs
from tidegate.store.upgrade import upgrade
from tidegate.words import Platform, Standing


class World:
    """One database, one platform, any number of workers."""

    def __init__(self, address: Address, database: Database, platform: CountingPlatform, at: str, home: Path) -> None:
        self.address = address
        self.database = database
        self.platform = platform
        self.workers: dict[str, ForkServerProcess] = {}
        self._at = at
        self._home = home

    async def add_accounts(self, count: int, platform: Platform = Platform.DISCORD) -> None:
        async with self.database.transaction() as connection:
            for number in range(count):
                name = f"{platform.value}-{number}"
                added = await accounts.add(connection, name, platform, Standing.NORMAL, loopback="http://127.0.0.1:1")
                await pace.set_pace(connection, added, allowance_of(Settings(), platform, Standing.NORMAL))

    def start_worker(self, name: str, task: Task = keep_looking, **orders: object) -> ForkServerProcess:
        told = {"database": self.address.direct, "platform": self._at, "home": self._home, "name": name, "task": task}
        process = start(Orders(**(told | orders)))
        self.workers[name] = process
        return process

    def signal(self, name: str, number: signal.Signals) -> None:
        pid = self.workers[name].pid
        assert pid is not None
        os.kill(pid, number)

    async def spread(self) -> Counter[str]:
        """How many accounts each living worker has, by the database."""
        rows = await self.database.pool.fetch(
            """
            SELECT w.name, count(*)
            FROM accounts a JOIN workers w ON w.number = a.owner
            WHERE w.ended_at IS NULL
            GROUP BY 1
            """
        )
        return Counter({row["name"]: row["count"] for row in rows})

    def overlaps(self, *, frozen: str = "") -> list[tuple[Session, Session]]:
        """Connections of one account from two processes at one time, but for those of the worker *frozen*."""
        pid = str(self.workers[frozen].pid) if frozen else ""
        found, last = [], {}
        for session in self.platform.record.sessions:
            before: Session | None = last.get(session.account)
            if before and before.process not in (session.process, pid) and before.overlaps(session):
                found.append((before, session))
            last[session.account] = session
        return found

    def called_by(self, since: float) -> dict[str, set[str]]:
        """Which accounts each process called for since then, by the platform's record."""
        found: dict[str, set[str]] = {}
        for call in reversed(self.platform.record.calls):
            if call.at < since:
                break
            found.setdefault(call.process, set()).add(call.account)
        return found

    async def until(self, what: str, condition: Callable[[], object], *, within: float = 30.0) -> None:
        """Wait for a condition, which may be a coroutine function; fails with *what* when it does not come."""
        try:
            async with asyncio.timeout(within):
                while True:
                    found = condition()
                    if await found if asyncio.iscoroutine(found) else found:
                        return
                    await asyncio.sleep(0.05)
        except (TimeoutError, asyncpg.PostgresError) as problem:
            raise AssertionError(f"never happened within {within} s: {what}; spread {await self.spread()}") from problem

    async def until_spread(self, *expected: int) -> None:
        async def is_so() -> bool:
            return sorted((await self.spread()).values()) == sorted(expected)

        await self.until(f"accounts spread {expected}", is_so)

    async def until_all_called(self, accounts: int, *, besides: str | None = None) -> None:
        """Until every account has been called for by a process other than that of the worker *besides*."""
        since = SystemClock().ticks()
        pid = str(self.workers[besides].pid) if besides else ""

        def is_so() -> bool:
            return len(set().union(*(found for who, found in self.called_by(since).items() if who != pid))) == accounts

        await self.until(f"{accounts} accounts called for", is_so)

    def end_workers(self) -> None:
        for process in self.workers.values():
            process.kill()
        for process in self.workers.values():
            process.join()


@asynccontextmanager
async def made(address: Address, database: Database, home: Path) -> AsyncIterator[World]:
    platform = CountingPlatform(SystemClock())
    world = World(address, database, platform, await platform.start(), home)
    yield world
    world.end_workers()
    await platform.close()


@pytest.fixture
async def world(address: Address, database: Database, test_folder: Path) -> AsyncIterator[World]:
    async with made(address, database, test_folder / "home") as world:
        yield world


@pytest.fixture
def own_server(test_folder: Path) -> Iterator[OwnServer]:
    """A server of the test's own, to be restarted."""
    server = OwnServer(test_folder / f"own-{os.getpid()}", wheel_programs())
    yield server
    server.leave()


@pytest.fixture
async def own_world(own_server: OwnServer, test_folder: Path) -> AsyncIterator[World]:
    """The world on a server of the test's own."""
    await upgrade(own_server.address.direct)
    database = await Database.open(own_server.address)
    async with made(own_server.address, database, test_folder / "home") as world:
        yield world
    await database.close()
