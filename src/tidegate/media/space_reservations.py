"""Space reserved for the files in flight of an account, within the limits of their channel and of all files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.core.errors import MachineTrouble
from tidegate.core.ids import ChannelKey, FileId
from tidegate.database.pool import Connection, Database
from tidegate.lanes import Lane
from tidegate.media.file_sources import NotKept
from tidegate.media.queries import media_totals, space_reservations
from tidegate.media.rules.media_policy import PolicyState, SkipReason, total_limit
from tidegate.media.store import MediaStore


class LimitReached(MachineTrouble):
    """All files together would take more than the operator allows."""


@dataclass(frozen=True, slots=True)
class SpaceLimits:
    """What bounds the files of a channel: the limit for all files, and that of the channel where it has one."""

    state: PolicyState
    channel: ChannelKey
    whole_limit: int | None


@dataclass(slots=True)
class AccountSpace:
    """The space reserved for one account's files in flight. All workers see it, so that together they keep the limit.

    Space that is released is stored with the next reservation: a release never waits for the database.
    """

    lane: Lane
    database: Database
    store: MediaStore
    _held: int = field(default=0, init=False)
    _released: int = field(default=0, init=False)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _least: dict[FileId, int] = field(default_factory=dict, init=False)  # of files that were cut off at the limit

    async def clear(self) -> None:
        """Nothing is in flight; what an earlier run left is forgotten."""
        self._held = self._released = 0
        async with owned_transaction(self.database, self.lane.claim()) as connection:
            await space_reservations.clear(connection, self.lane.account.id)

    @asynccontextmanager
    async def reserve(self, file: FileId, expected: int, limits: SpaceLimits) -> AsyncIterator[ReservedSpace]:
        """Reserve space until a file is stored or given up: *expected* bytes, and more while a longer one arrives."""
        held = ReservedSpace(self, file, limits)
        try:
            await held.grow(max(expected, self._least.get(file, 1)))
            yield held
            self._least.pop(file, None)
        finally:
            self._held -= held.bytes
            if not held.released:
                self._released += held.bytes

    async def take(self, file: FileId, needed: int, more: int, limits: SpaceLimits) -> None:
        """Reserve *more* bytes for a file of which *needed* are known by now; ``NotKept`` or ``LimitReached``."""
        free = await asyncio.to_thread(self.store.free)
        async with self._turn:
            released = self._released
            async with owned_transaction(self.database, self.lane.claim()) as connection:
                taken = await space_reservations.lock_taken(connection)
                if limits.whole_limit is not None:
                    kept = await media_totals.kept_bytes(connection, limits.channel)
                    if kept + self._held + more > limits.whole_limit:
                        raise NotKept(SkipReason.CHANNEL_LIMIT)
                limit = total_limit(limits.state, free=free, stored=taken.stored)
                if needed > limit:
                    raise NotKept(SkipReason.TOTAL_LIMIT)  # it would never fit, and all others would wait behind it
                if taken.stored + taken.held - released + more > limit:
                    self._least[file] = needed
                    raise LimitReached(_waits(taken.stored, needed, limit))
                await space_reservations.reserve(connection, self.lane.account.id, more - released)
            self._released -= released
            self._held += more


@dataclass(slots=True)
class ReservedSpace:
    """The space of one file. *released* is whether the database knows already that it is free."""

    space: AccountSpace
    file: FileId
    limits: SpaceLimits
    bytes: int = 0
    released: bool = False

    async def grow(self, needed: int) -> None:
        """Reserve *needed* bytes in all; ``NotKept`` or ``LimitReached`` where the limits do not allow it."""
        more = needed - self.bytes
        if more > 0:
            await self.space.take(self.file, needed, more, self.limits)
            self.bytes = needed

    async def release(self, connection: Connection) -> None:
        """The bytes have a row, which is written in the same transaction; set ``released`` once it is committed."""
        await space_reservations.reserve(connection, self.space.lane.account.id, -self.bytes)


def _waits(stored: int, needed: int, limit: int) -> str:
    return (
        f"Files wait: {stored:,} bytes are kept, a file of {needed:,} more is due, and the limit for all is "
        f"{limit:,}. Raise it (tidegate media policy --total-limit SIZE) or remove files; they resume by themselves."
    )
