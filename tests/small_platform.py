"""A platform inside the test's own process: it keeps a record of every call and answers as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tidegate.core.clock import Clock
from tidegate.core.ids import ChannelId, MessageId
from tidegate.platforms.interface import Head, HistoryPage, Receipt, SendKey


@dataclass(frozen=True, slots=True)
class Received:
    """One call as the platform saw it arrive."""

    method: str
    channel: ChannelId | None
    at: datetime
    ticks: float


@dataclass
class SmallPlatform:
    """Can gate, page and send. ``answers`` are used up one a call: an error to raise, or something to await first."""

    clock: Clock
    received: list[Received] = field(default_factory=list)
    answers: list[BaseException | Callable[[], Awaitable[None]] | None] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    most_at_once: int = 0
    closed: bool = False
    _at_once: int = 0

    async def heads(self, channels: Sequence[ChannelId]) -> Mapping[ChannelId, Head]:
        await self._take("heads", None)
        return {channel: Head(newest=MessageId(1), changes=None) for channel in channels}

    async def page(self, channel: ChannelId, *, before: MessageId | None) -> HistoryPage:
        await self._take("page", channel)
        return HistoryPage(messages=(), reached_start=before is not None)

    async def send(self, channel: ChannelId, text: str, *, key: SendKey) -> Receipt:
        await self._take("send", channel)
        return Receipt(message=MessageId(len(self.received)), at=self.clock.now())

    async def close(self) -> None:
        self.closed = True

    def count(self, method: str) -> int:
        """The platform's own count of calls."""
        return sum(one.method == method for one in self.received)

    def times(self, method: str = "send", channel: ChannelId | None = None) -> list[float]:
        """When calls arrived, on the clock that never jumps."""
        return [one.ticks for one in self.received if one.method == method and channel in (None, one.channel)]

    async def _take(self, method: str, channel: ChannelId | None) -> None:
        self.received.append(Received(method, channel, self.clock.now(), self.clock.ticks()))
        self.arrived.set()
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            await asyncio.sleep(0)
            answer = self.answers.pop(0) if self.answers else None
            if isinstance(answer, BaseException):
                raise answer
            if answer is not None:
                await answer()
        finally:
            self._at_once -= 1


class WithBuckets(SmallPlatform):
    """Also knows its rate-limit buckets: one for each channel, shared by all methods."""

    def bucket(self, method: str, channel: ChannelId | None) -> str:
        return f"route-{channel}"


class SlowToLeave(SmallPlatform):
    """Takes a while before the bytes leave, and looks once more right then; ``meanwhile`` is what happens before."""

    pre_send_check: Callable[[], object] = print
    meanwhile: Callable[[], object] = print

    async def _take(self, method: str, channel: ChannelId | None) -> None:
        self.meanwhile()
        self.pre_send_check()
        await super()._take(method, channel)
