"""A small test environment: one database, the counting platform, and workers that tests kill."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from tidegate.accounts.queries import accounts
from tidegate.app.composition import allowance_of
from tidegate.app.settings import Settings
from tidegate.core.account import Standing
from tidegate.core.clock import SystemClock
from tidegate.core.errors import TidegateError
from tidegate.core.platform import Platform
from tidegate.database.pool import Address, Database
from tidegate.lanes.queries import pace
from tidegate.loopback.counting_platform import CountingPlatform, Session
from tidegate.loopback.fleet import Orders, Task, keep_looking, start
from tidegate.loopback.owned_account import CONTROL
from tidegate.platforms.discord import DISCORD


class World:
    """One database, one platform, any number of workers."""

    def __init__(self, address: Address, database: Database, platform: CountingPlatform, at: str, home: Path) -> None:
        self.address = address
        self.database = database
        self.platform = platform
        self.workers: dict[str, ForkServerProcess] = {}
        self.at = at
        self.home = home

    async def add_accounts(self, count: int, platform: Platform = DISCORD) -> None:
        async with self.database.transaction() as connection:
            for number in range(count):
                name = f"{platform.name}-{number}"
                added = await accounts.add(connection, name, platform, Standing.NORMAL, loopback=CONTROL)
                await pace.set_pace(connection, added, allowance_of(Settings(), platform, Standing.NORMAL))

    def start_worker(
        self,
        name: str,
        task: Task = keep_looking,
        *,
        database: str | None = None,
        platform: str | None = None,
        cycle_every: timedelta | None = None,
        **settings: Any,
    ) -> None:
        """Start a worker that does *task* for each of its accounts, with the database and platform of this world."""
        database = self.address.direct if database is None else database
        platform = self.at if platform is None else platform
        self.workers[name] = start(Orders(database, platform, self.home, name, task, cycle_every, settings))

    def strike(self, name: str, number: signal.Signals) -> None:
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
        found = []
        last: dict[str, Session] = {}
        for session in self.platform.record.sessions:
            before = last.get(session.account)
            if before and before.process not in (session.process, pid) and before.overlaps(session):
                found.append((before, session))
            last[session.account] = session
        return found

    async def accounts_of(self, name: str) -> set[str]:
        rows = await self.database.pool.fetch(
            "SELECT a.name FROM accounts a JOIN workers w ON w.number = a.owner WHERE w.name = $1", name
        )
        return {row["name"] for row in rows}

    async def seconds_to_move(self, name: str, number: signal.Signals) -> float:
        """Signal a worker; how long until each of its accounts was called for elsewhere, by the platform's record."""
        waiting = await self.accounts_of(name)
        pid, since = str(self.workers[name].pid), SystemClock().ticks()
        self.strike(name, number)
        seen, last = len(self.platform.record.calls), since

        def all_moved() -> bool:
            nonlocal seen, last
            for call in self.platform.record.calls[seen:]:
                if call.process != pid and call.account in waiting:
                    waiting.discard(call.account)
                    last = call.at
            seen = len(self.platform.record.calls)
            return not waiting

        await self.until(f"the accounts of {name} are served elsewhere", all_moved)
        return last - since

    def called_by(self, since: float) -> dict[str, set[str]]:
        """Which accounts each process called for since then, by the platform's record."""
        found: dict[str, set[str]] = {}
        for call in reversed(self.platform.record.calls):
            if call.at < since:
                break
            found.setdefault(call.process, set()).add(call.account)
        return found

    async def until(self, what: str, condition: Callable[[], object], *, within: float = 120.0) -> None:
        """Wait for a condition, which may be a coroutine function; fails with *what* when it is not met in time."""
        try:
            async with asyncio.timeout(within):
                while True:
                    found = condition()
                    if await found if asyncio.iscoroutine(found) else found:
                        return
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise TidegateError(
                f"This did not happen within {within} s: {what}. Spread: {await self.spread()}"
            ) from None

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
async def make_world(address: Address, database: Database, home: Path) -> AsyncIterator[World]:
    """A world on *database*; its workers are ended with it."""
    platform = CountingPlatform(SystemClock())
    world = World(address, database, platform, await platform.start(), home)
    try:
        yield world
    finally:
        world.end_workers()
        await platform.close()
