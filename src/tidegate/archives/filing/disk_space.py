"""The disk that an account's sets are downloaded to: its free space, and the notice when sets wait for some."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from dataclasses import dataclass, field

import structlog

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.archives.filing.work_folder import NOTHING, DiskState, NoRoom, Shortage, WorkFolder
from tidegate.archives.queries import archive_pauses, filing_queue
from tidegate.archives.queries.filing_queue import DiskRoom
from tidegate.archives.rules.disk_eviction import fewest_to_free
from tidegate.core.ids import ArchiveId
from tidegate.database.pool import Database
from tidegate.lanes import Lane

log = structlog.get_logger()


@dataclass(slots=True)
class DiskWatch:
    """Watches the work folder for one batch of a queue. A disk that refused a file gets no other in the same batch.

    *troubles* has what the disk refused the account's queues in their last batches, and *queue* is whose batch it is.
    """

    lane: Lane
    database: Database
    work: WorkFolder
    troubles: dict[Hashable, str]
    queue: Hashable
    tried_again: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.troubles.pop(self.queue, None)

    async def tidy_up(self) -> None:
        """Delete the files of sets that are no longer wanted.

        The folder is read first, then the database: a worker marks a set in the database before it creates its files.
        """
        try:
            lying = await asyncio.to_thread(self.work.sets)
        except NoRoom as problem:
            self.note_trouble(str(problem))
            return
        async with self.database.connection() as connection:
            wanted = await filing_queue.unfinished(connection) if lying else set()
        await asyncio.to_thread(self.work.clear, lying - wanted)

    def note_trouble(self, sentence: str) -> None:
        """The disk refused a file."""
        self.troubles[self.queue] = sentence

    async def room(self) -> DiskRoom:
        """How much may be written now; after a pause only what the disk is proven to accept."""
        return await self._room(await self._look())

    async def report(self) -> bool:
        """Store whether sets wait for room, with one event when that begins and one when it ends.

        Returns whether any do. Sets that only wait until others are done need no notice.
        """
        state, account = await self._look(), self.lane.account
        if refused := next(iter(self.troubles.values()), None):
            state = DiskState(NOTHING, refused)
        room = await self._room(state)
        async with owned_transaction(self.database, self.lane.claim()) as connection:
            least, is_short = await filing_queue.room_lacking(connection, account.id, room)
            if least is None:
                await archive_pauses.clear_full_disk(connection, account.id)
                return is_short
            sentence = state.trouble or self.work.shortage(least)
            await archive_pauses.note_full_disk(connection, account.id, self.work.machine, sentence, needed=least)
        log.warning("filing_queue.paused", account=account.name, problem=sentence)
        return True

    async def _look(self) -> DiskState:
        if (trouble := self.troubles.get(self.queue)) is not None:
            return DiskState(NOTHING, trouble)
        wanted = 0
        if not self.tried_again:
            self.tried_again = True
            async with self.database.connection() as connection:
                wanted = await archive_pauses.room_needed(connection, self.lane.account.id) or 0
        state = await asyncio.to_thread(self.work.look, wanted)
        if state.trouble is not None:
            self.note_trouble(state.trouble)
        return state

    async def _room(self, state: DiskState) -> DiskRoom:
        """How much may be written. The space a set holds on a disk that accepts no more does not help it."""
        held: dict[ArchiveId, int] = {}
        if state.trouble is None:
            try:
                held = await asyncio.to_thread(self.work.held)
            except NoRoom as problem:
                self.note_trouble(str(problem))
        return DiskRoom(state.room, held)


async def make_room(database: Database, work: WorkFolder, archive: ArchiveId, needed: int) -> None:
    """Make room for *needed* bytes of a set, by deleting half-done sets that no worker is working on.

    Otherwise half-done sets of several accounts could fill a disk that has room for any one of them. ``Shortage`` when
    that would not free enough; then nothing is deleted.
    """
    try:
        await asyncio.to_thread(work.require_room, needed)
    except Shortage:
        held = await asyncio.to_thread(work.held)
        async with database.transaction() as connection:
            idle = await filing_queue.lock_idle(connection, held.keys() - {archive})
            going = fewest_to_free({one: held[one] for one in idle}, await asyncio.to_thread(work.lack, needed))
            if not going:
                raise
            log.info("filing_queue.room_made", dropped=going, needed=needed)
            await asyncio.to_thread(work.clear, going)
