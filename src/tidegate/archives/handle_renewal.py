"""A file of a set where it was posted, read by a handle that is renewed when it expires."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.archives.queries import indexing_queue
from tidegate.archives.queries.indexing_queue import TakenArchivePart, TakenSet
from tidegate.core.errors import Refused
from tidegate.core.ids import CycleNumber
from tidegate.database.pool import Database
from tidegate.lanes import Lane
from tidegate.platforms.interface import FileHandle, HandleExpired

RENEWALS = 3
"""How often in a row a handle may turn out to be expired before the file is given up."""


class SourceGone(Exception):
    """The message of a part, or the file in it, no longer exists."""


@dataclass(frozen=True, slots=True)
class SourceAccess:
    """How the files of sets are reached."""

    lane: Lane  # of the account that reads their channels
    database: Database
    cycle: CycleNumber | None  # the cycle that calls are recorded for


class SourceFile:
    """One part of a set on its platform.

    An expired handle is renewed by fetching the message again, once for all reads in flight. That counts as no try
    (S-48).
    """

    def __init__(self, access: SourceAccess, taken: TakenSet, part: TakenArchivePart) -> None:
        self.part = part
        self._access = access
        self._taken = taken
        self._handle = part.handle
        self._renewing = asyncio.Lock()

    async def read(self, offset: int, length: int) -> bytes:
        """The bytes at *offset*, fewer only at the end of the file."""
        expired: FileHandle | None = None
        for _ in range(RENEWALS + 1):
            handle = await self.handle(expired=expired)
            try:
                return await self._access.lane.read_file(handle, offset=offset, length=length, cycle=self._access.cycle)
            except HandleExpired:
                expired = handle
        raise Refused("The platform's references to this file expire as soon as they are given out.")

    async def handle(self, *, expired: FileHandle | None = None) -> FileHandle:
        """A handle other than the *expired* one; the message is fetched again when no other is known."""
        async with self._renewing:
            if self._handle is None or self._handle == expired:
                self._handle = await self._renew()
            return self._handle

    async def _renew(self) -> FileHandle:
        """Fetch the message for a valid handle and store it; another file in it is not the part any more (S-48)."""
        number, part, lane = self.part.message, self.part, self._access.lane
        shown = await lane.messages(self._taken.channel, [number], cycle=self._access.cycle)
        if number not in shown:
            raise Refused("The platform said nothing about the message of this file.")
        message = shown[number]
        same = [file for file in message.files if (file.id, file.size) == (part.file, part.size)] if message else []
        if not same:
            raise SourceGone
        handle = same[0].handle
        async with owned_transaction(self._access.database, lane.claim()) as connection:
            renewed = replace(part, handle=handle)
            await indexing_queue.keep_handle(connection, self._taken.archive, renewed, lane.account.id)
        return handle
