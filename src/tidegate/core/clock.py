"""The only place that reads a clock (time-is-given).

Two readings: ``now`` is the time of day, aware UTC; ``ticks`` counts seconds on a clock that never jumps and includes
suspend, so an age is never too small.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

_TICKS = getattr(
    time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC
)  # macOS has no boot-time clock; its monotonic one counts sleep


class Clock(Protocol):
    """The time for all code that waits; tests replace it."""

    def now(self) -> datetime: ...
    def ticks(self) -> float: ...
    async def sleep(self, span: timedelta) -> None: ...


class SystemClock:
    """The machine's own time."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def ticks(self) -> float:
        return time.clock_gettime(_TICKS)

    async def sleep(self, span: timedelta) -> None:
        await asyncio.sleep(max(0.0, span.total_seconds()))


class HeldClock:
    """A clock that moves only when ``advance`` is called, for tests and simulations.

    ``advance`` wakes sleepers one instant after the other. After each instant everything that was woken runs until it
    sleeps again or ends. Real database and network calls are included: their callers register with ``busy_when``.
    ``on_jump`` gets every new instant first, so that a database can be set to the same time.
    """

    def __init__(self, start: datetime) -> None:
        self._now = start
        self._ticks = 1_000_000.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._busy: list[Callable[[], bool]] = []
        self._listeners: list[Callable[[datetime], Awaitable[None]]] = []

    def now(self) -> datetime:
        return self._now

    def ticks(self) -> float:
        return self._ticks

    async def sleep(self, span: timedelta) -> None:
        if span <= timedelta():
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._ticks + span.total_seconds(), next(self._order), woken))
        await woken

    def busy_when(self, busy: Callable[[], bool]) -> None:
        """Hold the clock still while *busy* says that a call is in flight."""
        self._busy.append(busy)

    def on_jump(self, listener: Callable[[datetime], Awaitable[None]]) -> None:
        self._listeners.append(listener)

    async def advance(self, span: timedelta) -> None:
        """Let *span* pass, waking everyone due on the way in the order they are due."""
        await self._settle()
        end = self._ticks + span.total_seconds()
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, woken = heapq.heappop(self._sleepers)
            if woken.done():  # its task was cancelled
                continue
            await self._move_to(due)
            if not woken.done():  # nor cancelled while listeners ran
                woken.set_result(None)
            await self._settle()
        await self._move_to(end)
        await self._settle()

    async def _move_to(self, ticks: float) -> None:
        self._now += timedelta(seconds=ticks - self._ticks)
        self._ticks = ticks
        await self._tell()

    async def _tell(self) -> None:
        for listener in self._listeners:
            await listener(self._now)

    async def _settle(self) -> None:
        quiet = 0
        while quiet < 30:  # a woken task may need many turns of the loop before it makes its next call
            await asyncio.sleep(0.001 if any(busy() for busy in self._busy) else 0)
            quiet = 0 if any(busy() for busy in self._busy) else quiet + 1
