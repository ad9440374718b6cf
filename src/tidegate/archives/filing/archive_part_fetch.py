"""The parts of a set downloaded one after the other, hashed, and deleted as soon as they are not needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.archives.failures import failing_as
from tidegate.archives.filing.disk_space import make_room
from tidegate.archives.filing.download import IncompleteFile, download
from tidegate.archives.filing.filing_context import FilingContext
from tidegate.archives.filing.partial_file import PartialFile
from tidegate.archives.filing.progress import FilingProgress
from tidegate.archives.handle_renewal import SourceFile
from tidegate.archives.queries import filing_queue
from tidegate.archives.queries.filing_queue import Wish
from tidegate.archives.queries.indexing_queue import TakenArchivePart, TakenSet
from tidegate.archives.rules.retry import FailureReason
from tidegate.core.task_groups import first_of

LOOK_EVERY = timedelta(seconds=1)
"""How often to check, while bytes are moved, whether they are still wanted."""


class NotWanted(Exception):
    """The operator wants something else of the set's channel by now; what was downloaded so far stays."""


class ArchivePartFetch:
    """The parts of one set: at most one of them lies on the disk at a time."""

    def __init__(self, context: FilingContext, taken: TakenSet, is_wanted: Callable[[Wish], bool]) -> None:
        """*is_wanted* says whether bytes of the set are moved for something that is still wanted.

        *sources* are its parts on the platform, each by its source.
        """
        self.progress = FilingProgress(context.database, context.clock, taken)
        self._context = context
        self._taken = taken
        self._is_wanted = is_wanted
        self.sources = {part.source: SourceFile(context, taken, part) for part in taken.parts}
        self._digests = {part.source: part.sha256 for part in taken.parts if part.sha256 is not None}
        self._here: tuple[TakenArchivePart, PartialFile] | None = None

    @property
    def digests(self) -> list[bytes]:
        """The digests of the first parts, as far as they are known without a hole."""
        found: list[bytes] = []
        for part in self._taken.parts:
            if part.source not in self._digests:
                break
            found.append(self._digests[part.source])
        return found

    async def hash_all(self) -> None:
        """Know the digests of all parts; each is deleted after hashing, unless it is the only one."""
        for part in self._taken.parts:
            if part.source not in self._digests:
                await self.fetch(part)
                if len(self._taken.parts) > 1:
                    await self.drop()

    async def fetch(self, part: TakenArchivePart) -> PartialFile:
        """A part, complete and hashed, on the disk; the one before it is deleted."""
        if self._here is not None and self._here[0] == part:
            return self._here[1]
        await self.drop()
        context, archive = self._context, self._taken.archive
        place = context.work.place(archive, self._taken.parts.index(part) + 1, part.name)
        found = PartialFile(place, file=part.file, size=part.size, host=context.work.host)
        with failing_as(FailureReason.DOWNLOAD):
            if not await asyncio.to_thread(lambda: found.is_complete):
                await make_room(context.database, context.work, archive, found.lacking)
                try:
                    await asyncio.to_thread(context.work.open, found)
                    self.progress.begin("downloading", part.name, size=found.size, done=found.size - found.left)
                    downloading = download(self.sources[part.source], found, self.progress.add)
                    await first_of(downloading, self.until_unwanted())
                finally:
                    found.close()
            digest = await asyncio.to_thread(found.digest)
            if self._digests.get(part.source, digest) != digest:
                await asyncio.to_thread(found.drop)
                raise IncompleteFile(f"{part.name} has other bytes than when it was read before; it is read once more.")
            if part.source not in self._digests:
                async with owned_transaction(context.database, context.lane.claim()) as connection:
                    await filing_queue.keep_digest(connection, archive, part, digest)
                self._digests[part.source] = digest
        self._here = (part, found)
        return found

    async def until_unwanted(self) -> None:
        """Raise ``NotWanted`` as soon as the bytes of the set are not wanted any more; run it beside what moves them.

        It does not wait for a call in flight, which the platform may delay for an hour.
        """
        context = self._context
        while True:
            await context.clock.sleep(LOOK_EVERY)
            async with context.database.connection() as connection:
                now = await filing_queue.wish(connection, self._taken.archive, context.lane.account.id)
            if not self._is_wanted(now):
                raise NotWanted

    async def drop(self) -> None:
        """Delete the part that is on the disk."""
        if self._here is not None:
            here, self._here = self._here[1], None
            await asyncio.to_thread(here.drop)
