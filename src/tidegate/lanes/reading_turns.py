"""Turns of channels that are read at once: fair between them, and as many at once as the account's limits allow."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, Protocol, TypeVar

from tidegate.core.task_groups import beside
from tidegate.lanes.lane import Lane
from tidegate.lanes.rules.channels_at_once import ReadingLoad, may_begin

TURN_ENDS_AT = timedelta(milliseconds=250)
"""A channel that has to wait longer than this gives its turn to another one."""


class ReadableInTurns(Protocol):
    """A channel while it is read: whether it waits for the platform now, and not for the database."""

    @property
    def is_asking(self) -> bool: ...


Reading = TypeVar("Reading", bound=ReadableInTurns)


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """What one turn of a channel came to: whether it is read further, and after how long."""

    goes_on: bool
    after: timedelta = timedelta()


class ReadingTurns(Generic[Reading]):
    """Channels that take turns. One that has to wait queues again behind the others when its wait ends."""

    def __init__(self, lane: Lane, channels: Iterable[Reading], *, ceiling: int | None) -> None:
        self._lane = lane
        self._ceiling = ceiling
        self._ready = deque(channels)
        self._running: dict[asyncio.Task[TurnEnded], Reading] = {}
        self._resting: dict[asyncio.Task[None], Reading] = {}

    async def take(self, turn: Callable[[Reading], Coroutine[Any, Any, TurnEnded]]) -> None:
        """Give each channel its *turn*, again and again until it goes on no more; the first failure ends the others."""
        none_yet: list[Coroutine[Any, Any, Any]] = []
        async with beside(*none_yet) as tasks:
            while self._ready or self._running or self._resting:
                change = self._lane.read_load_change()
                while self._ready and may_begin(self._load(), ceiling=self._ceiling):
                    channel = self._ready.popleft()
                    self._running[task := asyncio.create_task(turn(channel))] = channel
                    tasks.append(task)
                watched: set[asyncio.Future[Any]] = {change, *self._running, *self._resting}
                await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
                for rested in [one for one in self._resting if one.done()]:
                    rested.result()
                    self._ready.append(self._resting.pop(rested))
                    tasks.remove(rested)
                for ended in [one for one in self._running if one.done()]:
                    tasks.remove(ended)
                    self._queue_again(self._running.pop(ended), ended.result(), tasks)

    def _load(self) -> ReadingLoad:
        lane = self._lane.read_load
        return ReadingLoad(
            running=len(self._running),
            storing=sum(not one.is_asking for one in self._running.values()),
            queued=lane.queued,
            in_flight=lane.in_flight,
            at_once=lane.at_once,
        )

    def _queue_again(self, channel: Reading, ended: TurnEnded, tasks: list[asyncio.Task[Any]]) -> None:
        if ended.goes_on and ended.after > timedelta():
            self._resting[task := asyncio.create_task(self._lane.gate.sleep(ended.after))] = channel
            tasks.append(task)
        elif ended.goes_on:
            self._ready.append(channel)
