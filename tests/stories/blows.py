"""Kills in the middle of a run: of the worker that serves the account, and of the processes it started."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from tidegate.loopback.counting_world import World

MOST_SENDS = 30
"""After so many sends it strikes, though the call that it waits for did not come."""


_LONG = timedelta(seconds=2)

_IS_PAUSED = """
SELECT EXISTS (SELECT FROM waits WHERE kind <> 'chat' AND until > clock_now() + $1)
    OR EXISTS (SELECT FROM upload_failures WHERE retry_at > clock_now() + $1)
    OR EXISTS (SELECT FROM runs WHERE state = 'running' AND held_until > clock_now() + $1)
"""

_LET_PASS = (
    "UPDATE waits SET until = clock_now()",
    "UPDATE pace SET not_before = NULL",
    "UPDATE upload_failures SET retry_at = clock_now()",
    "UPDATE runs SET held_until = NULL WHERE held_until IS NOT NULL",
    "UPDATE run_parts SET not_before = NULL WHERE not_before IS NOT NULL",
)


@dataclass
class Blows:
    """Kills whoever serves the account, again and again, in the middle of what it does.

    *counted* is the platform's own count; *methods* are the calls to strike at, *sends* those that show that the run
    goes on. With *spares_worker*, now and then only the processes that the worker started are killed.
    """

    world: World
    dice: random.Random
    start: Callable[[str], object]
    counted: Callable[[], Counter[str]]
    methods: Sequence[str]
    sends: Sequence[str]
    most_sends: int = MOST_SENDS
    spares_worker: bool = False
    before_upload: int = field(default=0, init=False)
    begun: int = field(default=0, init=False)

    def start_next(self) -> None:
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
            return now[method] > after or sent > self.most_sends

        await self.until("the run goes on", at_work, within=300)
        await asyncio.sleep(self.dice.choice([0, self.dice.uniform(0, 0.02), self.dice.uniform(0, 0.5)]))
        [owner] = await self.world.spread() or [None]
        if owner is None:
            return
        self.before_upload += not await self.world.database.pool.fetchval("SELECT count(*) FROM uploads")
        if self.spares_worker and self.dice.random() < 0.4:
            self._kill_children(owner)
        else:
            await self._kill(owner)

    async def until(self, what: str, condition: Callable[[], Awaitable[bool]], *, within: float) -> None:
        """Wait for a condition; long pauses on the way pass at once."""

        async def is_met() -> bool:
            await self._skip_pauses()
            return await condition()

        await self.world.until(what, is_met, within=within)

    async def _kill(self, owner: str) -> None:
        if self.dice.random() < 0.5:
            self._kill_children(owner)
        await self._end(owner, signal.SIGKILL)

    async def _end(self, owner: str, number: signal.Signals) -> None:
        self.world.strike(owner, number)
        await asyncio.to_thread(self.world.workers[owner].join)
        self.start_next()

    def _kill_children(self, owner: str) -> None:
        for child in children_of(self.world.workers[owner].pid):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    async def _skip_pauses(self) -> None:
        """Let pauses pass that would hold the run up for long: the same as waiting, without the wait.

        A worker remembers its pauses, so it is told to end and another goes on. That is no blow: it ends in order.
        """
        if not await self.world.database.pool.fetchval(_IS_PAUSED, _LONG):
            return
        [owner] = await self.world.spread() or [None]
        if owner is None or not self.world.workers[owner].is_alive():
            return  # soon another worker has the account, and the pause
        async with self.world.database.transaction() as connection:
            for change in _LET_PASS:
                await connection.execute(change)
        await self._end(owner, signal.SIGTERM)


def children_of(parent: int | None) -> list[int]:
    """The processes that a process started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            if status.read_text().rpartition(")")[2].split()[1] == str(parent):
                found.append(int(status.parent.name))
    return found
