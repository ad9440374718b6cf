"""A file on a platform, read where it is needed: aligned blocks through the lane, kept for a while, and counted."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from tidegate.lanes import Lane
from tidegate.mirror.archive_bytes import BLOCK
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
        first, last = low // BLOCK, (high - 1) // BLOCK
        blocks = [await self._block(number, block) for block in range(first, last + 1)]
        return b"".join(blocks)[low - first * BLOCK : high - first * BLOCK]

    async def _block(self, number: int, block: int) -> bytes:
        known = self._blocks.get((number, block))
        if known is not None:
            self._blocks.move_to_end((number, block))
            return known
        content = await self._fetch(number, block * BLOCK)
        self.fetched += len(content)
        self._blocks[number, block] = content
        if len(self._blocks) > KEPT_BLOCKS:
            self._blocks.popitem(last=False)
        return content

    async def _fetch(self, number: int, offset: int) -> bytes:
        """One block; a handle that has expired is renewed, which counts as no try (S-48)."""
        if number in self._handles:
            try:
                return await self._ask(number, offset)
            except HandleExpired:
                pass
        self._handles[number] = await self._renew(self._parts[number])
        return await self._ask(number, offset)

    async def _ask(self, number: int, offset: int) -> bytes:
        return await self._lane.read_file(self._handles[number], offset=offset, length=BLOCK, cycle=self._cycle)
