"""A platform of groups inside the test's own process: it keeps every message it accepted, and fails as it is told."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tidegate.core.clock import Clock
from tidegate.core.ids import ChannelId, MessageId
from tidegate.platforms.interface import Receipt, SendKey, UploadLost
from tidegate.platforms.interface.uploads import Arrived, Media, MediaRef


class Killed(BaseException):
    """The worker's end in mid-call: nobody catches it, and nothing is marked."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """One message as it arrived."""

    channel: int
    text: str
    key: str
    file: bytes | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Trouble:
    """What happens to one send: raised before the platform took it, or *after*; awaited before anything, or *late*."""

    problem: BaseException | None = None
    after: bool = False
    wait: Callable[[], Awaitable[None]] | None = None
    late: Callable[[], Awaitable[None]] | None = None


@dataclass
class GroupsPlatform:
    """Takes texts and files, and forgets nothing. ``troubles`` are used up one a send, or by the group they are for."""

    clock: Clock
    delivered: list[Delivered] = field(default_factory=list)
    uploads: list[bytes] = field(default_factory=list)
    troubles: list[Trouble | None] = field(default_factory=list)
    trouble_in: dict[int, Trouble] = field(default_factory=dict)
    upload_waits: Callable[[], Awaitable[object]] | None = None
    waiting: int = 0
    most_at_once: int = 0
    taken: set[bytes] = field(default_factory=set)
    media_lasts: timedelta | None = None
    arrivals: asyncio.Queue[Arrived] = field(default_factory=asyncio.Queue)
    calls: int = 0
    _at_once: int = 0

    async def send(self, channel: ChannelId, text: str, *, key: SendKey) -> Receipt:
        return await self._accept(channel, text, key, None)

    async def upload(self, media: Media, content: bytes) -> MediaRef:
        self.calls += 1
        if self.upload_waits is not None:
            await self.upload_waits()
        self.uploads.append(content)
        reference = b"%d " % len(self.uploads) + media.sha256
        self.taken.add(reference)
        return MediaRef(reference)

    async def post(self, channel: ChannelId, media: Media, ref: MediaRef, *, caption: str, key: SendKey) -> Receipt:
        return await self._accept(channel, caption, key, ref)

    async def next_arrival(self) -> Arrived:
        self.waiting += 1
        try:
            return await self.arrivals.get()
        finally:
            self.waiting -= 1

    async def names_of(self, key: SendKey) -> list[str]:
        return [f"3EB{number}" for number, one in enumerate(self.delivered, 1) if one.key == key]

    async def close(self) -> None:
        pass

    def by_group(self) -> Counter[int]:
        return Counter(one.channel for one in self.delivered)

    def texts(self, channel: int) -> list[str]:
        return [one.text for one in self.delivered if one.channel == channel]

    async def _accept(self, channel: ChannelId, text: str, key: str, file: bytes | None) -> Receipt:
        self.calls += 1
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            trouble = self.trouble_in.get(channel) or (self.troubles.pop(0) if self.troubles else None) or Trouble()
            if trouble.wait is not None:
                await trouble.wait()
            if trouble.problem is not None and not trouble.after:
                raise trouble.problem
            if file is not None and file not in self.taken:
                raise UploadLost("The platform no longer has this file.")
            self._keep(Delivered(channel, text, key, file, self.clock.now()))
            if trouble.late is not None:
                await trouble.late()
            if trouble.problem is not None:
                raise trouble.problem
            return Receipt(MessageId(len(self.delivered)), self.clock.now(), name=f"3EB{len(self.delivered)}")
        finally:
            self._at_once -= 1

    def _keep(self, message: Delivered) -> None:
        self.delivered.append(message)


@dataclass
class Recognising(GroupsPlatform):
    """Also knows a repeated send by its key, for ever or for *recognises_for*, and accepts it once."""

    recognises_for: timedelta | None = None

    def _keep(self, message: Delivered) -> None:
        known = [one for one in self.delivered if one.key == message.key]
        fresh = self.recognises_for is None or (known and message.at - known[0].at < self.recognises_for)
        if not (known and fresh):
            super()._keep(message)
