"""A file uploaded in parts, several at once, each on record as soon as the platform has acknowledged it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.archives.filing.download import OnMoved
from tidegate.archives.filing.filing_context import FilingContext
from tidegate.archives.queries import deliveries
from tidegate.archives.queries.deliveries import Delivery
from tidegate.core.ids import UploadId
from tidegate.core.task_groups import each
from tidegate.platforms.interface import Upload

AT_ONCE = 4
STALE_AFTER = timedelta(hours=1)
"""Platforms keep the parts of an unfinished upload for minutes to hours; an older one is started over."""

ReadBytes = Callable[[int, int], bytes]
"""Reads some bytes of the source's file at an offset; blocks its thread meanwhile."""


class FileUpload:
    """The upload of one message's file. After a kill only the parts that are not on record are sent again (S-56)."""

    def __init__(self, context: FilingContext, delivery: Delivery, *, on_moved: OnMoved) -> None:
        self._context = context
        self._lane = context.lane
        self._delivery = delivery
        self._on_moved = on_moved
        self._saved: set[int] = set()
        self._upload = Upload(UploadId(0), delivery.name, delivery.size)

    async def begin(self, *, anew: bool = False) -> Upload:
        """Resume the upload on record, or begin one under a new number, stored before its first part."""
        account = self._lane.account.id
        known = None if anew or self._delivery.account != account else self._delivery.upload
        async with owned_transaction(self._context.database, self._lane.claim()) as connection:
            if known is None or await deliveries.is_stale(connection, self._delivery.id, STALE_AFTER):
                known, self._saved = UploadId(secrets.randbits(62)), set()
                await deliveries.begin_upload(connection, self._delivery.id, known, account)
            else:
                self._saved = set(self._delivery.saved)
        self._upload = replace(self._upload, id=known)
        return self._upload

    @property
    def missing(self) -> list[int]:
        """The parts that the platform has not acknowledged."""
        return [part for part in range(self._upload.parts) if part not in self._saved]

    @property
    def done(self) -> int:
        """How many bytes the platform has acknowledged, approximately."""
        return min(self._upload.size, len(self._saved) * self._upload.part_size)

    async def save(self, read: ReadBytes) -> None:
        """Upload the missing parts, several at once; each is on record as soon as the platform acknowledged it."""
        upload, delivery = self._upload, self._delivery

        async def save(part: int) -> None:
            start = part * upload.part_size
            length = min(upload.part_size, delivery.size - start)
            content = await asyncio.to_thread(read, delivery.first_byte + start, length)
            await self._lane.save_part(upload, part, content, cycle=self._context.cycle)
            async with owned_transaction(self._context.database, self._lane.claim()) as connection:
                await deliveries.note_saved(connection, delivery.id, upload.id, part)
            self._saved.add(part)
            await self._on_moved(length)

        await each(self.missing, save, at_once=AT_ONCE)
