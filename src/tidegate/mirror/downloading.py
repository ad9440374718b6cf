"""A file brought here in blocks, several at once, going on where an earlier try was cut off."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tidegate.errors import Refused, TidegateError
from tidegate.lanes import Lane
from tidegate.mirror.partial_file import BLOCK, PartialFile
from tidegate.mirror.remote_file import RemotePart, Renew
from tidegate.port import FileHandle, HandleExpired
from tidegate.side_by_side import each

AT_ONCE = 4
RENEWALS = 3
"""How often in a row a block's handle may turn out to be expired before the file is given up."""

Tell = Callable[[int], Awaitable[None]]
"""Hears how many bytes more have been moved."""


class NotWhole(TidegateError):
    """The platform has fewer bytes of a file than it announced."""


class Download:
    """One file being fetched. A handle that expires in between is renewed once for all blocks in flight (S-48)."""

    def __init__(self, lane: Lane, part: RemotePart, renew: Renew, *, cycle: int | None, tell: Tell) -> None:
        self._lane = lane
        self._part = part
        self._renew = renew
        self._cycle = cycle
        self._tell = tell
        self._handle = part.handle
        self._renewing = asyncio.Lock()

    async def into(self, partial: PartialFile) -> None:
        """Fetch what is missing of *partial*, which is open, and make it whole.

        A file that is not what was announced is not kept (S-40). One that is cut off stays, for the next try.
        """

        async def fetch(block: int) -> None:
            content = await self._read(block * BLOCK)
            if len(content) != partial.length(block):
                raise NotWhole(
                    f"The platform gave {block * BLOCK + len(content):,} bytes of a file of {partial.size:,}; "
                    "it did not arrive whole."
                )
            await asyncio.to_thread(partial.write, block, content)
            await self._tell(len(content))

        try:
            await each(partial.missing(), fetch, at_once=AT_ONCE)
        except NotWhole:
            partial.close()
            await asyncio.to_thread(partial.drop)
            raise
        await asyncio.to_thread(partial.finish)

    async def _read(self, offset: int) -> bytes:
        for _ in range(RENEWALS + 1):
            handle = self._handle
            if handle is not None:
                try:
                    return await self._lane.read_file(handle, offset=offset, length=BLOCK, cycle=self._cycle)
                except HandleExpired:
                    pass
            await self._renew_once(handle)
        raise Refused("The platform's references to this file expire as soon as they are given out.")

    async def _renew_once(self, worn: FileHandle | None) -> None:
        """A new handle in place of *worn*, unless another block has brought one meanwhile."""
        async with self._renewing:
            if self._handle == worn:
                self._handle = await self._renew(self._part)
