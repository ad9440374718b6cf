"""A file handed over in parts, several at once, each on record as soon as the platform has acknowledged it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from tidegate.lanes import Lane
from tidegate.mirror.downloading import Tell
from tidegate.port import Upload, UploadId
from tidegate.side_by_side import each
from tidegate.store import accounts, deliveries
from tidegate.store.database import Database
from tidegate.store.deliveries import Delivery

AT_ONCE = 4
STALE_AFTER = timedelta(hours=1)
"""Platforms keep the parts of an unfinished upload for minutes to hours; an older one begins anew."""

ReadBytes = Callable[[int, int], bytes]
"""Reads some bytes of the source's file at an offset; holds its thread meanwhile."""


class Handover:
    """One message's file on its way to the platform. After a kill only what is not on record is sent again (S-56)."""

    def __init__(self, lane: Lane, database: Database, delivery: Delivery, *, cycle: int | None, tell: Tell) -> None:
        self._lane = lane
        self._database = database
        self._delivery = delivery
        self._cycle = cycle
        self._tell = tell
        self._saved: set[int] = set()
        self._upload = Upload(UploadId(0), delivery.name, delivery.size)

    async def begin(self, *, anew: bool = False) -> Upload:
        """Go on with the upload on record, or begin one under a new number, stored before its first part."""
        account = self._lane.account.id
        known = None if anew or self._delivery.account != account else self._delivery.upload
        async with self._database.transaction() as connection:
            await accounts.fence(connection, self._lane.claim())
            if known is None or await deliveries.is_stale(connection, self._delivery.id, STALE_AFTER):
                known, self._saved = UploadId(secrets.randbits(62)), set()
                await deliveries.begin_upload(connection, self._delivery.id, known, account)
            else:
                self._saved = set(self._delivery.saved)
        self._upload = replace(self._upload, id=known)
        return self._upload

    @property
    def missing(self) -> list[int]:
        """The parts that the platform has not got."""
        return [part for part in range(self._upload.parts) if part not in self._saved]

    @property
    def done(self) -> int:
        """How many bytes the platform has got, about."""
        return min(self._upload.size, len(self._saved) * self._upload.part_size)

    async def save(self, read: ReadBytes) -> None:
        """Hand over what is missing."""
        await each(self.missing, lambda part: self._save(part, read), at_once=AT_ONCE)

    async def _save(self, part: int, read: ReadBytes) -> None:
        upload, delivery = self._upload, self._delivery
        start = part * upload.part_size
        length = min(upload.part_size, delivery.size - start)
        content = await asyncio.to_thread(read, delivery.first_byte + start, length)
        await self._lane.save_part(upload, part, content, cycle=self._cycle)
        async with self._database.transaction() as connection:
            await accounts.fence(connection, self._lane.claim())
            await deliveries.note_saved(connection, delivery.id, upload.id, part)
        self._saved.add(part)
        await self._tell(length)
