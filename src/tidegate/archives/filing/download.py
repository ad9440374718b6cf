"""A file downloaded in blocks, several at once, resumed where an earlier try was cut off."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from tidegate.archives.filing.partial_file import BLOCK, PartialFile
from tidegate.core.errors import TidegateError
from tidegate.core.task_groups import each

AT_ONCE = 4


class ReadsRanges(Protocol):
    """A file that is read in ranges; fewer bytes than asked for come only at its end."""

    async def read(self, offset: int, length: int) -> bytes: ...


OnMoved = Callable[[int], Awaitable[None]]
"""Receives how many more bytes have been moved."""


class IncompleteFile(TidegateError):
    """The platform has fewer bytes of a file than it announced, or other bytes than before."""


async def download(source: ReadsRanges, into: PartialFile, on_moved: OnMoved) -> None:
    """Fetch the missing blocks of *into*, which is open, and complete it.

    A file that is not as announced is deleted (S-40). One that is cut off stays, for the next try.
    """

    async def fetch(block: int) -> None:
        content = await source.read(block * BLOCK, BLOCK)
        if len(content) != into.length(block):
            raise IncompleteFile(
                f"The platform gave {block * BLOCK + len(content):,} bytes of a file of {into.size:,}; "
                "it did not arrive whole."
            )
        await asyncio.to_thread(into.write, block, content)
        await on_moved(len(content))

    try:
        await each(into.missing(), fetch, at_once=AT_ONCE)
    except IncompleteFile:
        into.close()
        await asyncio.to_thread(into.drop)
        raise
    await asyncio.to_thread(into.finish)
