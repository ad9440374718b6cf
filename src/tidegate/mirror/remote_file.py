"""A file on a platform, read where it is needed: aligned blocks through the lane, kept for a while, and counted."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from tidegate.lanes import Lane
from tidegate.mirror.archive_bytes import BLOCK, LARGEST_RUN
from tidegate.port import FileHandle, HandleExpired

KEPT_BLOCKS = 32


@dataclass(frozen=True, slots=True)
class RemotePart:
    """One file of a set, with the message it came in and the handle it is read by."""

    message: int
    file: int
    size: int
    handle: FileHandle | None


Renew = Callable[[RemotePart], Awaitable[FileHandle]]
"""Fetches a part's message again for a handle that is valid now."""


class RemoteFile:
    """The parts of a set as one file. *fetched* counts the bytes that travelled."""

    def __init__(self, lane: Lane, parts: Sequence[RemotePart], renew: Renew, *, cycle: int | None = None) -> None:
        self.size = sum(part.size for part in parts)
        self.fetched = 0
        self._lane = lane
        self._parts = parts
        self._renew = renew
        self._cycle = cycle
        self._handles: dict[int, FileHandle] = {
            number: part.handle for number, part in enumerate(parts) if part.handle is not None
        }
        self._blocks: OrderedDict[tuple[int, int], bytes] = OrderedDict()

    async def read(self, offset: int, length: int) -> bytes:
        """The bytes at *offset*, fewer only at the end of the file."""
        found = bytearray()
        start = 0
        for number, part in enumerate(self._parts):
            low = max(offset + len(found) - start, 0)
            high = min(offset + length - start, part.size)
            if low < high:
                found += await self._read_part(number, low, high)
            start += part.size
        return bytes(found)

    async def _read_part(self, number: int, low: int, high: int) -> bytes:
        first, stop = low // BLOCK, -(-high // BLOCK)
        blocks: list[bytes] = []
        while first + len(blocks) < stop:
            blocks += await self._blocks_from(number, first + len(blocks), stop)
        return b"".join(blocks)[low - first * BLOCK : high - first * BLOCK]

    async def _blocks_from(self, number: int, block: int, stop: int) -> list[bytes]:
        """The next blocks: one that is known, or as many of those wanted as one call brings."""
        known = self._blocks.get((number, block))
        if known is not None:
            self._blocks.move_to_end((number, block))
            return [known]
        count = 1
        while block % (2 * count) == 0 and block + 2 * count <= stop and 2 * count * BLOCK <= LARGEST_RUN:
            count *= 2
        content = await self._fetch(number, block * BLOCK, count * BLOCK)
        self.fetched += len(content)
        found = [content[at * BLOCK : (at + 1) * BLOCK] for at in range(count)]
        self._blocks.update({(number, block + at): piece for at, piece in enumerate(found)})
        while len(self._blocks) > KEPT_BLOCKS:
            self._blocks.popitem(last=False)
        return found

    async def _fetch(self, number: int, offset: int, length: int) -> bytes:
        """Some blocks; a handle that has expired is renewed, which counts as no try (S-48)."""
        if number in self._handles:
            try:
                return await self._ask(number, offset, length)
            except HandleExpired:
                pass
        self._handles[number] = await self._renew(self._parts[number])
        return await self._ask(number, offset, length)

    async def _ask(self, number: int, offset: int, length: int) -> bytes:
        return await self._lane.read_file(self._handles[number], offset=offset, length=length, cycle=self._cycle)
