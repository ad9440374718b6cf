"""Waiting sets worked off one at a time: what is inside is read from where it lies, stored, and searchable."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

import structlog

from tidegate.errors import ChannelGone, PlatformError, Refused
from tidegate.lanes import Lane
from tidegate.mirror.contents import FORMATS, LIMITS, Contents, ContentsReader, NotListed, ReadingLimits
from tidegate.mirror.failing import record_failure
from tidegate.mirror.remote_file import RemoteFile, RemotePart
from tidegate.mirror.scan import FINAL
from tidegate.mirror.sources import SourceGone, renew_handle
from tidegate.port import FileHandle
from tidegate.rules import retrying
from tidegate.rules.naming import Kind
from tidegate.rules.retrying import FailureReason, RetryHabits
from tidegate.store import accounts, contents
from tidegate.store.contents import Row, Taken
from tidegate.store.database import Database

log = structlog.get_logger()

WORKABLE = (*FORMATS, Kind.DOCUMENT)
"""What is worked off here; a document has nothing inside that could be listed."""

MOST_VOLUMES = 1_000
"""An archive that asks for more, which names do not even have, is not believed."""


@dataclass(slots=True)
class Worked:
    """What became of the sets that were worked on; *reopened* are those whose content asks for more volumes."""

    indexed: int = 0
    failed: int = 0
    reopened: int = 0


class _Ended(Enum):
    """How work on a set ended, and whether going on with the next makes sense."""

    WELL = auto()
    REOPENED = auto()
    FAILED = auto()
    IN_TROUBLE = auto()


async def work_off(
    lane: Lane,
    database: Database,
    habits: RetryHabits,
    *,
    cycle: int | None = None,
    most: int = 200,
    limits: ReadingLimits = LIMITS,
) -> Worked:
    """Read what is inside waiting sets of the account's channels, *most* of them in this turn.

    Each ends in a transaction of its own with its event. A set that fails stops no other, unless the platform itself
    is in trouble: then the rest is left for the next turn, and only the one set has used up a try.
    """
    worked = Worked()
    async with database.transaction() as connection:
        await accounts.fence(connection, lane.claim())
        await contents.put_back(connection, lane.account.id)
    async with ContentsReader(limits) as reader:
        indexer = _Indexer(lane, database, habits, reader, cycle)
        for _ in range(most):
            async with database.transaction() as connection:
                await accounts.fence(connection, lane.claim())
                taken = await contents.take(connection, lane.account.id, WORKABLE)
            if taken is None:
                break
            ended = await indexer.work_on(taken)
            worked.indexed += ended is _Ended.WELL
            worked.failed += ended in (_Ended.FAILED, _Ended.IN_TROUBLE)
            worked.reopened += ended is _Ended.REOPENED
            if ended is _Ended.IN_TROUBLE:
                break
    return worked


@dataclass(frozen=True, slots=True)
class _Indexer:
    lane: Lane
    database: Database
    habits: RetryHabits
    reader: ContentsReader
    cycle: int | None

    async def work_on(self, taken: Taken) -> _Ended:
        """Read one set to its end; what ends the account's work altogether is raised, and leaves the set in hand."""
        if retrying.is_too_large(taken.size, self.habits, taken.earlier):
            return await self._fail(taken, FailureReason.SIZE_LIMIT)
        try:
            found = await self._read(taken)
        except FINAL:
            raise
        except (SourceGone, NotListed, PlatformError) as problem:
            ended = await self._fail(taken, _reason_of(problem), str(problem))
            return _Ended.IN_TROUBLE if _is_everybodys(problem) else ended
        if (volumes := _lacking(taken, found)) is not None:
            return await self._reopen(taken, volumes, all_told=not found.followed)
        rows = [Row(one.path, one.size, one.encrypted) for one in found.files]
        async with self.database.transaction() as connection:
            await accounts.fence(connection, self.lane.claim())
            await contents.keep(connection, taken, rows, found.flags)
        return _Ended.WELL

    async def _reopen(self, taken: Taken, volumes: int, *, all_told: bool) -> _Ended:
        async with self.database.transaction() as connection:
            await accounts.fence(connection, self.lane.claim())
            await contents.reopen(connection, taken, volumes, all_told=all_told)
        log.info("archive.reopened", archive=taken.archive, name=taken.name, parts=len(taken.parts), volumes=volumes)
        return _Ended.REOPENED

    async def _read(self, taken: Taken) -> Contents:
        if taken.kind not in FORMATS:
            return Contents([], [])
        parts = [RemotePart(part.message, part.file, part.size, part.handle) for part in taken.parts]

        async def renew(part: RemotePart) -> FileHandle:
            return await renew_handle(self.lane, self.database, taken, part, cycle=self.cycle)

        remote = RemoteFile(self.lane, parts, renew, cycle=self.cycle)
        sizes = [part.size for part in parts]
        found = await self.reader.read(FORMATS[taken.kind], remote.size, remote.read, parts=sizes)
        log.info("archive.indexed", archive=taken.archive, size=remote.size, fetched=remote.fetched, flags=found.flags)
        return found

    async def _fail(self, taken: Taken, reason: FailureReason, detail: str = "") -> _Ended:
        await record_failure(self.lane, self.database, self.habits, taken, reason=reason, detail=detail)
        return _Ended.FAILED


def _lacking(taken: Taken, found: Contents) -> int | None:
    """How many volumes there are, or are at least, when the content says that not all were found."""
    if taken.kind is Kind.ZIP:
        volumes = found.volumes or 0
    elif taken.kind in (Kind.RAR, Kind.RAR_PARTS) and found.followed:
        volumes = len(taken.parts) + 1
    else:
        return None
    return volumes if len(taken.parts) < volumes <= MOST_VOLUMES else None


def _reason_of(problem: Exception) -> FailureReason:
    if isinstance(problem, SourceGone):
        return FailureReason.SOURCE_GONE
    return FailureReason.INDEXING if isinstance(problem, NotListed) else FailureReason.DOWNLOAD


def _is_everybodys(problem: Exception) -> bool:
    """Whether the next set would meet the same trouble: the platform gave no definite answer about this one."""
    return isinstance(problem, PlatformError) and not isinstance(problem, Refused | ChannelGone)
