"""The parts of a set read as one file, without a download: aligned blocks, kept for a while, and counted."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from tidegate.archives.formats.archive_bytes import BLOCK, LARGEST_RUN
from tidegate.archives.handle_renewal import SourceFile

KEPT_BLOCKS = 32


class RemoteFile:
    """The parts of a set as one file. *fetched* counts the bytes that travelled."""

    def __init__(self, parts: Sequence[SourceFile]) -> None:
        self.size = sum(one.part.size for one in parts)
        self.fetched = 0
        self._parts = parts
        self._blocks: OrderedDict[tuple[int, int], bytes] = OrderedDict()

    async def read(self, offset: int, length: int) -> bytes:
        """The bytes at *offset*, fewer only at the end of the file."""
        found = bytearray()
        start = 0
        for number, one in enumerate(self._parts):
            low = max(offset + len(found) - start, 0)
            high = min(offset + length - start, one.part.size)
            if low < high:
                first, stop = low // BLOCK, -(-high // BLOCK)
                blocks: list[bytes] = []
                while first + len(blocks) < stop:
                    blocks += await self._blocks_from(number, first + len(blocks), stop)
                found += b"".join(blocks)[low - first * BLOCK : high - first * BLOCK]
            start += one.part.size
        return bytes(found)

    async def _blocks_from(self, number: int, block: int, stop: int) -> list[bytes]:
        """The next blocks of a part: one that is known, or as many of those wanted as one call brings."""
        known = self._blocks.get((number, block))
        if known is not None:
            self._blocks.move_to_end((number, block))
            return [known]
        count = 1
        while block % (2 * count) == 0 and block + 2 * count <= stop and 2 * count * BLOCK <= LARGEST_RUN:
            count *= 2
        content = await self._parts[number].read(block * BLOCK, count * BLOCK)
        self.fetched += len(content)
        found = [content[at * BLOCK : (at + 1) * BLOCK] for at in range(count)]
        self._blocks.update({(number, block + at): piece for at, piece in enumerate(found)})
        while len(self._blocks) > KEPT_BLOCKS:
            self._blocks.popitem(last=False)
        return found
