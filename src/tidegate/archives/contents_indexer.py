"""Reads the lists of contents of waiting sets, one set at a time, without a download, and makes them searchable."""

from __future__ import annotations

import platform
from dataclasses import dataclass

import structlog

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.archives.failures import record_failure
from tidegate.archives.formats.sandbox import (
    FORMATS,
    LIMITS,
    ArchiveContents,
    ContentsSandbox,
    NotListed,
    SandboxLimits,
)
from tidegate.archives.handle_renewal import SourceAccess, SourceFile, SourceGone
from tidegate.archives.queries import archive_pauses, filing_queue, indexing_queue
from tidegate.archives.queries.indexing_queue import TakenSet
from tidegate.archives.remote_file import RemoteFile
from tidegate.archives.rules import retry
from tidegate.archives.rules.file_names import ArchiveKind
from tidegate.archives.rules.retry import FailureReason, RetryPolicy
from tidegate.archives.set_outcome import SetOutcome
from tidegate.core.errors import (
    ENDS_CYCLE,
    ChannelGone,
    LongWait,
    MachineTrouble,
    PlatformError,
    Refused,
    TidegateError,
)
from tidegate.core.ids import ChannelId, CycleNumber
from tidegate.database.pool import Database
from tidegate.lanes import Lane

log = structlog.get_logger()

WORKABLE = (*FORMATS, ArchiveKind.DOCUMENT)
"""The kinds of sets that are read here; a document has no contents to list."""

SETS_IN_A_ROW = 50
"""Maximum number of sets in a row before cycles run again. Archives from outside decide how long reading takes."""

MOST_VOLUMES = 1_000
"""A number of volumes above this is ignored: not even file names can count that far."""


@dataclass(slots=True)
class IndexingResult:
    """The results of the sets that were read; *reopened* are those whose content says that volumes are missing.

    *more*: the maximum was read, so that others may wait for the next call. *paused*: the machine could not start
    the process that reads them.
    """

    indexed: int = 0
    failed: int = 0
    reopened: int = 0
    more: bool = False
    paused: bool = False


async def index_waiting_sets(
    lane: Lane,
    database: Database,
    policy: RetryPolicy,
    *,
    cycle: CycleNumber | None = None,
    most: int = SETS_IN_A_ROW,
    limits: SandboxLimits = LIMITS,
) -> IndexingResult:
    """Read what is inside waiting sets of the account's channels, at most *most* of them.

    Each ends in its own transaction with its event. A set that fails stops no other, unless the platform itself is in
    trouble. Then the rest is left for the next call, and only that set has used up a try. No try is used up when the
    machine is in trouble or the channel is closed; other sets of a closed channel wait as well.
    """
    worked = IndexingResult()
    unreadable: set[ChannelId] = set()
    async with owned_transaction(database, lane.claim()) as connection:
        await indexing_queue.put_back(connection, lane.account.id)
    async with ContentsSandbox(limits) as reader:
        indexer = _Indexer(lane, database, cycle, policy, reader)
        for _ in range(most):
            async with owned_transaction(database, lane.claim()) as connection:
                taken = await indexing_queue.take(connection, lane.account.id, WORKABLE, without=unreadable)
                if taken is None:
                    await archive_pauses.clear_no_process(connection, lane.account.id)
                    return worked
            ended = await indexer.work_on(taken)
            worked.indexed += ended is SetOutcome.INDEXED
            worked.failed += ended in (SetOutcome.FAILED, SetOutcome.IN_TROUBLE)
            worked.reopened += ended is SetOutcome.REOPENED
            worked.paused = ended is SetOutcome.WITHOUT_PROCESS
            if ended in (SetOutcome.IN_TROUBLE, SetOutcome.LEFT, SetOutcome.WITHOUT_PROCESS):
                return worked
            if ended is SetOutcome.WITHOUT_SOURCE:
                unreadable.add(taken.channel)
    worked.more = True
    return worked


@dataclass(frozen=True, slots=True)
class _Indexer(SourceAccess):
    policy: RetryPolicy
    reader: ContentsSandbox

    async def work_on(self, taken: TakenSet) -> SetOutcome:
        """Read one set; an error that ends the account's work is raised, and the set stays marked as working."""
        if retry.is_too_large(taken.size, self.policy, taken.earlier):
            return await self._fail(taken, FailureReason.SIZE_LIMIT)
        found = ArchiveContents([], [])
        try:
            if taken.kind in FORMATS:
                sources = [SourceFile(self, taken, part) for part in taken.parts]
                remote, sizes = RemoteFile(sources), [part.size for part in taken.parts]
                found = await self.reader.read(FORMATS[taken.kind], remote.size, remote.read, parts=sizes)
                fetched = remote.fetched
                log.info("archive.indexed", archive=taken.archive, size=remote.size, fetched=fetched, flags=found.flags)
        except ENDS_CYCLE:
            raise
        except ChannelGone as closed:
            return await self._leave(taken, SetOutcome.WITHOUT_SOURCE, closed)
        except (LongWait, MachineTrouble) as trouble:
            ended = SetOutcome.WITHOUT_PROCESS if isinstance(trouble, MachineTrouble) else SetOutcome.LEFT
            return await self._leave(taken, ended, trouble)
        except (SourceGone, NotListed, PlatformError) as problem:
            ended = await self._fail(taken, _reason_of(problem), str(problem))
            return SetOutcome.IN_TROUBLE if _is_everybodys(problem) else ended
        if (volumes := _lacking(taken, found)) is not None:
            return await self._reopen(taken, volumes, all_counted=not found.followed)
        async with owned_transaction(self.database, self.lane.claim()) as connection:
            await indexing_queue.keep(connection, taken, found.files, found.flags)
            if self.reader.children:
                await archive_pauses.clear_no_process(connection, self.lane.account.id)
        return SetOutcome.INDEXED

    async def _reopen(self, taken: TakenSet, volumes: int, *, all_counted: bool) -> SetOutcome:
        async with owned_transaction(self.database, self.lane.claim()) as connection:
            await indexing_queue.reopen(connection, taken, volumes, all_counted=all_counted)
        log.info("archive.reopened", archive=taken.archive, name=taken.name, parts=len(taken.parts), volumes=volumes)
        return SetOutcome.REOPENED

    async def _leave(self, taken: TakenSet, ended: SetOutcome, problem: TidegateError) -> SetOutcome:
        """Let the set wait with all its tries: the trouble is not its own."""
        async with owned_transaction(self.database, self.lane.claim()) as connection:
            await filing_queue.leave(connection, taken.archive)
            if ended is SetOutcome.WITHOUT_PROCESS:
                await archive_pauses.note_no_process(connection, self.lane.account.id, platform.node(), str(problem))
        log.warning("archive.not_read", archive=taken.archive, name=taken.name, problem=str(problem))
        return ended

    async def _fail(self, taken: TakenSet, reason: FailureReason, detail: str = "") -> SetOutcome:
        await record_failure(self.lane, self.database, self.policy, taken, reason=reason, detail=detail)
        return SetOutcome.FAILED


def _lacking(taken: TakenSet, found: ArchiveContents) -> int | None:
    """How many volumes there are, or are at least, when the content says that not all were found."""
    if taken.kind is ArchiveKind.ZIP:
        volumes = found.volumes or 0
    elif taken.kind in (ArchiveKind.RAR, ArchiveKind.RAR_PARTS) and found.followed:
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
    return isinstance(problem, PlatformError) and not isinstance(problem, Refused)
