"""Reads: many at once within limits, and repeated by the lane while repeating can help (law 11)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from tidegate.errors import (
    AskedToWait,
    Banned,
    ChannelGone,
    NotOurs,
    NotSent,
    OutcomeUnknown,
    PlatformError,
    Refused,
    SignedOut,
)
from tidegate.lanes.limits import ReadLimits
from tidegate.lanes.road import Road
from tidegate.port import NOT_ASKED, ChannelId
from tidegate.rules.pacing import Bucket, Pace, Wait, charge
from tidegate.words import CallKind, Outcome

T = TypeVar("T")

_EPOCH = datetime.fromtimestamp(0, UTC)
_PAUSES = tuple(timedelta(seconds=seconds) for seconds in (0.5, 1, 2, 4))
"""How long to wait after the first, second … failure in a row that trying again may cure; then it is raised."""

_FINAL = (Refused, ChannelGone, NotOurs)
_CURABLE = (NotSent, OutcomeUnknown, PlatformError, OSError)


class Gauge:
    """A pace that only this process keeps, on the clock that never jumps."""

    def __init__(self, pace: Pace | None) -> None:
        self.pace = pace
        self._bucket = Bucket(_EPOCH)

    def take(self, ticks: float) -> timedelta | None:
        """Take one token; or say how long to wait for it, having taken none. Without a pace there is always one."""
        if self.pace is None:
            return None
        now = _EPOCH + timedelta(seconds=ticks)
        answer = charge(self._bucket, self.pace, now)
        if isinstance(answer, Wait):
            return answer.until - now
        self._bucket = answer.bucket
        return None


class Reading:
    """The reading side of one lane."""

    def __init__(self, road: Road, limits: ReadLimits) -> None:
        self._road = road
        self._slots = asyncio.Semaphore(limits.at_once)
        self._gauge = Gauge(limits.pace)

    async def read(
        self, method: str, channel: ChannelId | None, cycle: int | None, call: Callable[[], Awaitable[T]]
    ) -> T:
        """Make the call when it may be made, as often as it takes or a few failures in a row allow."""
        failures = 0
        while True:
            try:
                async with self._slots:
                    return await self._attempt(method, channel, cycle, call)
            except _Paused:
                await self._road.until_clear(method, channel)
            except AskedToWait as asked:
                await self._road.heed_wait(asked, method, channel)
            except (SignedOut, Banned) as stop:
                await self._road.heed_stop(stop)
                raise
            except _FINAL:
                raise
            except _CURABLE:
                if failures == len(_PAUSES):
                    raise
                await self._road.sleep(_PAUSES[failures])
                failures += 1

    async def _attempt(
        self, method: str, channel: ChannelId | None, cycle: int | None, call: Callable[[], Awaitable[T]]
    ) -> T:
        road = self._road
        while road.is_clear(method, channel) and (pause := self._gauge.take(road.clock.ticks())):
            await road.sleep(pause)
        if not road.is_clear(method, channel):
            raise _Paused  # the slot is given to others meanwhile
        road.require_open()
        started = road.clock.ticks()
        outcome = Outcome.FAILED
        try:
            with road.call():
                answer = await call()
            outcome = Outcome.OK
        except AskedToWait:
            outcome = Outcome.ASKED_TO_WAIT
            raise
        except (NotSent, NotOurs, *NOT_ASKED):
            outcome = Outcome.NOT_SENT
            raise
        except (OutcomeUnknown, asyncio.CancelledError):
            outcome = Outcome.UNKNOWN
            raise
        finally:
            took = timedelta(seconds=road.clock.ticks() - started)
            road.ledger.note(road.account.id, CallKind.WORK, method, outcome, took=took, cycle=cycle)
            road.count(method, outcome)
        return answer


class _Paused(Exception):
    """The call's scope waits; try again when it is clear."""
