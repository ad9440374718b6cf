"""How an account's wishes for cycles are waited for and taken one after the other, the same on every platform."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from tidegate.clock import Clock
from tidegate.errors import NotOurs
from tidegate.mirror.desk import Desk, Wish
from tidegate.mirror.scan import FINAL
from tidegate.side_by_side import beside
from tidegate.store.database import AWAY
from tidegate.words import Account

log = structlog.get_logger()

JITTER = 0.1
"""By how much of it the time between two cycles varies, so that accounts do not move in step."""

SOON = timedelta(seconds=2)
"""How long a hint waits for others, because posts come in bursts."""

LOOK_EVERY = timedelta(minutes=1)
"""How often to look for what cannot wait for the next cycle: a channel just enabled, a retry somebody asked for."""


@dataclass(frozen=True, slots=True)
class Timetable:
    """How often cycles happen; *every* is None where only those asked for do.

    *every_live* is the interval while the platform tells everything by itself. *dice* gives a number from 0 to 1.
    """

    every: timedelta | None = timedelta(minutes=60)
    soon: timedelta = SOON
    every_live: timedelta = timedelta(hours=4)
    look_every: timedelta = LOOK_EVERY
    dice: Callable[[], float] = lambda: 0.0

    def pause(self, *, live: bool) -> timedelta | None:
        """How long to wait for the next cycle; None for as long as nobody asks."""
        if self.every is None:
            return None
        return (max(self.every, self.every_live) if live else self.every) * (1 + JITTER * self.dice())


@dataclass(frozen=True, slots=True)
class Turns:
    """One account's wishes, for as long as it is served; *cycled* is set after each cycle."""

    account: Account
    desk: Desk
    times: Timetable
    clock: Clock
    cycled: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, until_next: Callable[[], Awaitable[None]], fulfil: Callable[[Wish], Awaitable[None]]) -> None:
        """Fulfil one wish after the other; the first is for a cycle, where cycles happen by themselves."""
        if self.times.every is not None:
            self.desk.hint(None)
            await fulfil(self.desk.take())
        while True:
            await until_next()
            if not self.desk.is_asked:
                await self.clock.sleep(self.times.soon)
            await fulfil(self.desk.take())

    async def wished(self, span: timedelta | None, following: asyncio.Task[None]) -> bool:
        """Wait that long for a wish; False when none came. What stops the live news stops everything."""
        async with beside(self.desk.left(), *([] if span is None else [self.clock.sleep(span)])) as waiting:
            await asyncio.wait([*waiting, following], return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                following.result()
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            return waiting[0].done()

    async def deepen(self, read_on: Callable[[], Awaitable[object]]) -> None:
        """After each cycle go on with what is missing of histories, beside the next cycles, until nothing is.

        Only where cycles happen by themselves: a command that took the account for its duration does no more than that.
        """
        while self.times.every is not None:
            await self.cycled.wait()
            self.cycled.clear()
            try:
                await read_on()
            except NotOurs:  # no beat just now; the next cycle is made when it is back
                continue
            except FINAL:
                self.desk.hint(None)  # whoever makes the cycles is told the same, and goes on to whoever serves us
                return
            except AWAY as problem:
                name = self.account.name
                log.warning("histories.put_off", account=name, problem=str(problem), next="the next cycle")
