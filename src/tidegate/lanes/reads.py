"""Reads: concurrent within limits, and repeated by the lane while that can help.

Invariant: error-class-says-what-to-do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from tidegate.core import errors
from tidegate.core.ids import ChannelId, CycleNumber
from tidegate.core.platform_call import CallKind, CallOutcome
from tidegate.lanes.background_reads import is_in_background
from tidegate.lanes.call_gate import CallGate
from tidegate.lanes.call_limits import ReadLimits
from tidegate.lanes.call_outcomes import outcome_of
from tidegate.lanes.metrics import count_call
from tidegate.lanes.read_slots import ReadSlots
from tidegate.lanes.rules.pace_bucket import Pace, PaceBucket, PaceWait, charge

T = TypeVar("T")

_EPOCH = datetime.fromtimestamp(0, UTC)
_PAUSES = tuple(timedelta(seconds=seconds) for seconds in (0.5, 1, 2, 4))
"""How long to wait after the first, second … temporary failure in a row; after the last one, the error is raised."""

_YIELD_FOR = timedelta(milliseconds=50)
"""How long a call in the background waits before it looks again whether others wait for the pace."""

_FINAL = (errors.Refused, errors.ChannelGone, errors.NotOurs)
_CURABLE = (errors.PlatformError, OSError)


class ReadPace:
    """A pace that only this process keeps, on the monotonic clock."""

    def __init__(self, pace: Pace | None) -> None:
        self.pace = pace
        self._in_background = None if pace is None else replace(pace, burst=max(1, pace.burst - 1))
        self._bucket = PaceBucket(_EPOCH)

    def take(self, ticks: float, *, background: bool = False) -> timedelta | None:
        """Take one token, or return how long to wait for one and take none. Without a pace there is always one.

        A call in the *background* leaves one for the next that is not, unless there is never more than one.
        """
        pace = self._in_background if background else self.pace
        if pace is None:
            return None
        now = _EPOCH + timedelta(seconds=ticks)
        answer = charge(self._bucket, pace, now)
        if isinstance(answer, PaceWait):
            return answer.until - now
        self._bucket = answer.bucket
        return None


@dataclass(frozen=True, slots=True)
class ReadLoad:
    """The reads of a lane now: those that wait for a slot, the pace or a pause, and those that wait for an answer.

    At most *at_once* of those in the background are in flight.
    """

    queued: int
    in_flight: int
    at_once: int


class PacedReads:
    """Reads of one lane that share a rate and a number of calls in flight."""

    def __init__(self, gate: CallGate, limits: ReadLimits) -> None:
        self._gate = gate
        self._slots = ReadSlots(limits.at_once)
        self._pace = ReadPace(limits.pace)
        self._pacing = 0  # calls that are not in the background and wait for the pace
        self._at_once = limits.at_once
        self._asking = 0  # reads that wait for their turn or for an answer, not those that rest after a failure
        self._in_flight = 0
        self._change: asyncio.Future[None] | None = None

    @property
    def load(self) -> ReadLoad:
        return ReadLoad(self._asking - self._in_flight, self._in_flight, max(1, self._at_once - 1))

    def change(self) -> asyncio.Future[None]:
        """Done as soon as the load changes; never cancel it, because several callers share it."""
        if self._change is None:
            self._change = asyncio.get_running_loop().create_future()
        return self._change

    @contextmanager
    def _counted(self, *, asking: int = 0, in_flight: int = 0) -> Iterator[None]:
        self._count(asking, in_flight)
        try:
            yield
        finally:
            self._count(-asking, -in_flight)

    def _count(self, asking: int, in_flight: int) -> None:
        self._asking += asking
        self._in_flight += in_flight
        if self._change is not None:
            self._change.set_result(None)
            self._change = None

    async def read(
        self,
        verb: str,
        channel: ChannelId | None,
        cycle: CycleNumber | None,
        call: Callable[[], Awaitable[T]],
        *,
        background: bool = False,
    ) -> T:
        """Make the call when permitted; repeat it after rate limits, and after a few failures in a row.

        One in the *background* is made only while no other call waits for a slot or for the pace.
        """
        background = background or is_in_background()
        method = self._gate.method(verb)
        failures = 0
        with self._counted(asking=1):
            while True:
                try:
                    async with self._slots.slot(background=background):
                        await self._until_paced(method, channel, background=background)
                        return await self._attempt(method, cycle, call)
                except _Yielded:
                    await self._gate.sleep(_YIELD_FOR)
                except _Paused:
                    await self._gate.until_clear(method, channel)
                except errors.AskedToWait as asked:
                    await self._gate.heed_wait(asked, method, channel)
                except (errors.SignedOut, errors.Banned) as stop:
                    await self._gate.heed_stop(stop)
                    raise
                except _FINAL:
                    raise
                except _CURABLE:
                    if failures == len(_PAUSES):
                        raise
                    with self._counted(asking=-1):
                        await self._gate.sleep(_PAUSES[failures])
                    failures += 1

    async def _until_paced(self, method: str, channel: ChannelId | None, *, background: bool) -> None:
        gate = self._gate
        self._pacing += not background
        try:
            while gate.is_clear(method, channel):
                if background and (self._pacing or self._slots.is_wanted):
                    raise _Yielded  # the call it yields to may need this slot
                pause = self._pace.take(gate.clock.ticks(), background=background)
                if pause is None:
                    return
                await gate.sleep(pause)
        finally:
            self._pacing -= not background
        raise _Paused  # others use the slot meanwhile

    async def _attempt(self, method: str, cycle: CycleNumber | None, call: Callable[[], Awaitable[T]]) -> T:
        gate = self._gate
        gate.require_open()
        started = gate.clock.ticks()
        outcome = CallOutcome.OK
        try:
            with gate.call(), self._counted(in_flight=1):
                return await call()
        except BaseException as problem:
            outcome = outcome_of(problem, otherwise=CallOutcome.FAILED)
            raise
        finally:
            took = timedelta(seconds=gate.clock.ticks() - started)
            gate.call_log.note(gate.account.id, CallKind.WORK, method, outcome, took=took, cycle=cycle)
            count_call(gate.account.platform, method, outcome)


class _Yielded(Exception):
    """The call is in the background and others wait; queue again, without the slot."""


class _Paused(Exception):
    """The call's scope is paused; try again when the pause ends."""
