"""How many reads are in flight at once, and who is next: work in the background never delays the rest."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class ReadSlots:
    """A number of slots. One in the background waits while any other waits, and leaves one slot free for others."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._reserve = 1 if slots > 1 else 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._in_background: deque[asyncio.Future[None]] = deque()

    @property
    def is_wanted(self) -> bool:
        """Whether a call that is not in the background waits for a slot."""
        return bool(self._waiting)

    @asynccontextmanager
    async def slot(self, *, background: bool) -> AsyncIterator[None]:
        """Wait for a slot, and hold it for the duration of the block."""
        await self._take(background=background)
        try:
            yield
        finally:
            self._free += 1
            self._hand_out()

    async def _take(self, *, background: bool) -> None:
        queue = self._in_background if background else self._waiting
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        self._hand_out()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it had got its slot already
                self._free += 1
            elif turn in queue:  # else it was passed over meanwhile
                queue.remove(turn)
            self._hand_out()
            raise

    def _hand_out(self) -> None:
        while self._free > 0 and self._waiting:
            self._give(self._waiting.popleft())
        while self._free > self._reserve and self._in_background:
            self._give(self._in_background.popleft())

    def _give(self, turn: asyncio.Future[None]) -> None:
        if not turn.done():
            self._free -= 1
            turn.set_result(None)
