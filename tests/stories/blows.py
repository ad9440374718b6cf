"""Kills in the middle of a run: of the worker that serves the account, and of the processes it started."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tidegate.loopback.counting_world import World

MOST_SENDS = 30
"""After so many sends it strikes, though the call that it waits for did not come."""


@dataclass
class Blows:
    """Kills whoever serves the account, again and again, in the middle of what it does.

    *counted* is the platform's own count; *methods* are the calls to strike at, *sends* those that show that the run
    goes on. With *spares_worker*, now and then only the processes that the worker started are killed.
    """

    world: World
    dice: random.Random
    lives: int
    start: Callable[[str], object]
    counted: Callable[[], Counter[str]]
    methods: Sequence[str]
    sends: Sequence[str]
    most_sends: int = MOST_SENDS
    spares_worker: bool = False
    before_upload: int = field(default=0, init=False)
    begun: int = field(default=0, init=False)

    def start_next(self) -> None:
        assert self.begun < self.lives
        self.start(f"life-{self.begun}")
        self.begun += 1

    async def strike(self, *, after: int = 0) -> None:
        """Wait for a call of some kind and kill its worker a moment later: before, in or after the next one.

        *after* are calls of that kind that are let pass.
        """
        before, method = self.counted(), self.dice.choice(self.methods)

        async def at_work() -> bool:
            now = self.counted() - before
            sent = sum(now[send] for send in self.sends)
            return now[method] > after or sent > self.most_sends or await self.is_paused()

        await self.world.until("the run goes on", at_work, within=300)
        await asyncio.sleep(self.dice.choice([0, self.dice.uniform(0, 0.02), self.dice.uniform(0, 0.5)]))
        [owner] = await self.world.spread() or [None]
        if owner is None:
            return
        self.before_upload += not await self.world.database.pool.fetchval("SELECT count(*) FROM uploads")
        if self.spares_worker and not await self.is_paused() and self.dice.random() < 0.4:
            self._kill_children(owner)
        else:
            await self._kill(owner)

    async def _kill(self, owner: str) -> None:
        if self.dice.random() < 0.5:
            self._kill_children(owner)
        self.world.strike(owner, signal.SIGKILL)
        await asyncio.to_thread(self.world.workers[owner].join)
        await self._let_pauses_pass()
        self.start_next()

    def _kill_children(self, owner: str) -> None:
        for child in children_of(self.world.workers[owner].pid):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    async def is_paused(self) -> bool:
        """Whether the platform has asked the whole account to wait, for a minute at least."""
        asked = "SELECT EXISTS (SELECT FROM waits WHERE kind = 'account' AND until > clock_now())"
        found: bool = await self.world.database.pool.fetchval(asked)
        return found

    async def _let_pauses_pass(self) -> None:
        """Where the whole account has to wait, let that lie back: the same as waiting, without the wait."""
        if await self.is_paused():
            async with self.world.database.transaction() as connection:
                await connection.execute("UPDATE waits SET until = clock_now()")
                await connection.execute("UPDATE pace SET not_before = NULL")
                await connection.execute("UPDATE run_parts SET not_before = NULL WHERE not_before IS NOT NULL")


def children_of(parent: int | None) -> list[int]:
    """The processes that a process started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            if status.read_text().rpartition(")")[2].split()[1] == str(parent):
                found.append(int(status.parent.name))
    return found
