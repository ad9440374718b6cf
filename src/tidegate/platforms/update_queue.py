"""The queue of push updates between a platform's connection and the code that stores them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from tidegate.platforms.interface import UpdateHint

ROOM = 10_000


class UpdateQueue:
    """The only queue of push updates; it holds at most *room* of them.

    *on_overflow* returns what replaces all of them when there are more, so that no loss is silent.
    """

    def __init__(
        self, on_overflow: Callable[[Sequence[UpdateHint]], Iterable[UpdateHint]], *, room: int = ROOM
    ) -> None:
        self._on_overflow = on_overflow
        self._room = room
        self._hints: deque[UpdateHint] = deque()
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._hints)

    def add(self, hint: UpdateHint) -> None:
        self._hints.append(hint)
        if len(self._hints) > self._room:
            self._hints = deque(self._on_overflow(self._hints))
        self.wake()

    def wake(self) -> None:
        """Make a waiting ``take`` check again whether updates may still come."""
        self._changed.set()

    async def take(self, most: int, require_open: Callable[[], object]) -> Sequence[UpdateHint]:
        """Wait for updates and take up to *most*, oldest first; *require_open* raises when no more will come."""
        while not self._hints:
            require_open()
            self._changed.clear()
            await self._changed.wait()
        return [self._hints.popleft() for _ in range(min(most, len(self._hints)))]


def channels_to_check(hints: Sequence[UpdateHint]) -> Sequence[UpdateHint]:
    """For dropped updates: one hint per channel, so that each is read; or one for all when they are many."""
    channels = {hint.channel for hint in hints}
    if None in channels or len(channels) > len(hints) // 2:
        return [UpdateHint(None)]
    return [UpdateHint(channel) for channel in channels]
