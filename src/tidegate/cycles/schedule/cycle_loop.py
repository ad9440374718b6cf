"""The loop that waits for an account's cycle requests and runs them one after the other, on every platform."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from tidegate.core.account import Account
from tidegate.core.clock import Clock
from tidegate.core.errors import ENDS_CYCLE, NotOurs
from tidegate.core.task_groups import beside
from tidegate.cycles.schedule.cycle_requests import CycleRequest, CycleRequests
from tidegate.cycles.schedule.cycle_timetable import CycleTimetable
from tidegate.database.pool import AWAY

log = structlog.get_logger()


def sooner(*pauses: timedelta | None) -> timedelta | None:
    """The shortest of several pauses; None for one that nothing ends."""
    return min((pause for pause in pauses if pause is not None), default=None)


@dataclass(frozen=True, slots=True)
class CycleLoop:
    """Runs one account's requests while it is served; *cycled* is set after each cycle."""

    account: Account
    requests: CycleRequests
    times: CycleTimetable
    clock: Clock
    cycled: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(
        self, until_next: Callable[[], Awaitable[None]], fulfil: Callable[[CycleRequest], Awaitable[None]]
    ) -> None:
        """Run one request after the other; the first is for a cycle, unless cycles run on request only."""
        if self.times.every is not None:
            self.requests.hint(None)
            await fulfil(self.requests.take())
        while True:
            await until_next()
            if not self.requests.is_asked:
                await self.clock.sleep(self.times.soon)
            await fulfil(self.requests.take())

    async def requested(self, span: timedelta | None, following: asyncio.Task[None]) -> bool:
        """Wait that long for a request; False when none came. An error of the push updates is raised here."""
        async with beside(self.requests.left.wait(), *([] if span is None else [self.clock.sleep(span)])) as waiting:
            await asyncio.wait([*waiting, following], return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                following.result()
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            return waiting[0].done()

    async def deepen(self, read_on: Callable[[], Awaitable[timedelta | None]]) -> None:
        """After each cycle continue incomplete histories, beside the next cycles, until none is left.

        *read_on* returns how long something is rate limited, and is called again after that. This runs only where
        cycles run on a schedule. A command that took the account for its duration does nothing else.
        """
        pause: timedelta | None = None
        while self.times.every is not None:
            await self._cycled_or_over(pause)
            pause = None
            try:
                pause = await read_on()
            except NotOurs:  # no heartbeat now; the next cycle runs when it is back
                continue
            except ENDS_CYCLE:
                self.requests.hint(None)  # the next cycle meets the same error and raises it
                return
            except AWAY as problem:
                name = self.account.name
                log.warning("histories.put_off", account=name, problem=str(problem), next="the next cycle")

    async def _cycled_or_over(self, pause: timedelta | None) -> None:
        """Wait for the end of the next cycle, or for *pause* if that is shorter."""
        async with beside(self.cycled.wait(), *([] if pause is None else [self.clock.sleep(pause)])) as waiting:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        self.cycled.clear()
