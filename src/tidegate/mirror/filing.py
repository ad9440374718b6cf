"""Sets brought where the operator wants them: hashed, told from those already there, copied or uploaded, and filed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum, auto

import structlog

from tidegate.clock import Clock
from tidegate.lanes import Lane
from tidegate.mirror.delivering import CopyRefused, Delivering
from tidegate.mirror.failing import NotFiled, failing_as, record_failure
from tidegate.mirror.fetching import Fetching, Tools
from tidegate.mirror.work_folder import WorkFolder
from tidegate.rules import retrying
from tidegate.rules.filing import Decision, PartToFile, Way, manifest, way_for
from tidegate.rules.naming import largest_piece
from tidegate.rules.retrying import FailureReason, RetryHabits
from tidegate.store import accounts, deliveries, filing
from tidegate.store.database import Database
from tidegate.store.filing import Destination, ToFile

log = structlog.get_logger()


@dataclass(slots=True)
class Filed:
    """What became of the sets of a turn; *left* are those that wait for another set of the same beginning."""

    filed: int = 0
    duplicates: int = 0
    left: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class FilingHabits:
    """How sets are filed: when failures are tried again, where parts lie meanwhile, and the largest file to upload.

    Without *largest* it is what the platform takes from the account.
    """

    retries: RetryHabits
    work: WorkFolder
    largest: int | None = None


class _Ended(Enum):
    """How work on a set ended, and whether going on with the next makes sense."""

    FILED = auto()
    DUPLICATE = auto()
    LEFT = auto()
    FAILED = auto()
    IN_TROUBLE = auto()


async def file_waiting(
    lane: Lane, database: Database, clock: Clock, habits: FilingHabits, *, cycle: int | None = None, most: int = 200
) -> Filed:
    """File waiting sets of the account's channels, one at a time, *most* of them in this turn.

    Each ends in a transaction of its own with its event. What an earlier turn left half done is gone on with. A set
    that fails stops no other, unless the platform itself is in trouble.
    """
    told = Filed()
    await _tidy_up(lane, database, habits.work)
    last = 0
    for _ in range(most):
        async with database.transaction() as connection:
            await accounts.fence(connection, lane.claim())
            one = await filing.take(connection, lane.account.id, last)
        if one is None:
            break
        last = one.taken.archive
        ended = await _OneSet(Tools(lane, database, clock, habits.work, cycle), habits, one).work()
        told.filed += ended is _Ended.FILED
        told.duplicates += ended is _Ended.DUPLICATE
        told.left += ended is _Ended.LEFT
        told.failed += ended in (_Ended.FAILED, _Ended.IN_TROUBLE)
        if ended is _Ended.IN_TROUBLE:
            break
    return told


async def _tidy_up(lane: Lane, database: Database, work: WorkFolder) -> None:
    """Take up what an earlier owner left, and remove what lies on the disk of sets that nobody will go on with.

    The folder is looked at first: whoever puts something there has said so in the database before.
    """
    lying = await asyncio.to_thread(work.sets)
    async with database.transaction() as connection:
        await accounts.fence(connection, lane.claim())
        await filing.put_back(connection, lane.account.id)
        wanted = await filing.unfinished(connection) if lying else set()
    await asyncio.to_thread(work.clear, lying - wanted)


class _OneSet:
    """The steps of one set, each of which a kill may cut off."""

    def __init__(self, tools: Tools, habits: FilingHabits, one: ToFile) -> None:
        self._tools = tools
        self._habits = habits
        self._one = one
        self._fetching = Fetching(tools, one.taken)

    async def work(self) -> _Ended:
        """File the set; what ends the account's work altogether is raised, and leaves everything for the next owner."""
        taken, tools = self._one.taken, self._tools
        try:
            ended = await self._file()
        except NotFiled as failed:
            if not failed.trouble:
                await asyncio.to_thread(tools.work.clear, [taken.archive])
            await record_failure(
                tools.lane, tools.database, self._habits.retries, taken, reason=failed.reason, detail=str(failed)
            )
            return _Ended.IN_TROUBLE if failed.trouble else _Ended.FAILED
        await asyncio.to_thread(tools.work.clear, [taken.archive])
        return ended

    async def _file(self) -> _Ended:
        taken, destination = self._one.taken, self._one.destination
        if retrying.is_too_large(taken.size, self._habits.retries, taken.earlier):
            raise NotFiled(FailureReason.SIZE_LIMIT)
        if destination is None:
            if self._one.hashed:
                await self._fetching.hash_all()
            return await self._finish()
        _require_open(destination)
        way = way_for(self._parts, protected=self._one.protected)
        try:
            return await self._deliver(destination, way)
        except CopyRefused as refused:
            log.info("archive.not_copied", archive=taken.archive, why=str(refused.__cause__), next="uploaded")
        await self._give_up_copying(destination)
        return await self._deliver(destination, Way.UPLOAD)

    async def _deliver(self, destination: Destination, way: Way) -> _Ended:
        decision, original = await self._decide(way)
        if decision is Decision.DUPLICATE:
            return await self._finish(original)
        if decision is Decision.WAIT:
            async with self._tools.database.transaction() as connection:
                await accounts.fence(connection, self._tools.lane.claim())
                await filing.leave(connection, self._one.taken.archive)
            return _Ended.LEFT
        await Delivering(self._tools, self._one, destination, self._fetching).deliver()
        return await self._finish()

    async def _decide(self, way: Way) -> tuple[Decision, int | None]:
        """Whether the set is to be delivered; then its manifest is frozen.

        A first part that no other set begins with proves that the content is new, so that each further part is read
        only once, when it is uploaded. What is copied is not read on the way, so it is read before.
        """
        largest = await self._largest(way)
        if way is Way.UPLOAD:
            await self._fetching.hash_first()
        elif self._one.hashed:
            await self._fetching.hash_all()
        answer = await self._claim(way, largest)
        if answer[0] is Decision.HASH_FIRST:
            await self._fetching.hash_all()
            answer = await self._claim(way, largest)
        return answer

    async def _claim(self, way: Way, largest: int) -> tuple[Decision, int | None]:
        planned = manifest(self._parts, way, largest)
        async with self._tools.database.transaction() as connection:
            await accounts.fence(connection, self._tools.lane.claim())
            return await filing.claim(connection, self._one, self._fetching.digests, planned)

    async def _largest(self, way: Way) -> int:
        """The largest file the account may upload; whether it is a premium one is asked only where that matters."""
        ordinary = self._habits.largest or largest_piece(premium=False)
        if way is Way.COPY or self._habits.largest or all(part.size <= ordinary for part in self._parts):
            return ordinary
        with failing_as(FailureReason.UPLOAD):
            me = await self._tools.lane.me(cycle=self._tools.cycle)
        return largest_piece(premium=me.premium)

    async def _give_up_copying(self, destination: Destination) -> None:
        async with self._tools.database.transaction() as connection:
            await accounts.fence(connection, self._tools.lane.claim())
            await deliveries.release(connection, self._one.taken.archive, destination.key)
            await filing.protect(connection, self._one.taken.archive)

    async def _finish(self, duplicate_of: int | None = None) -> _Ended:
        taken, digests = self._one.taken, self._fetching.digests
        async with self._tools.database.transaction() as connection:
            await accounts.fence(connection, self._tools.lane.claim())
            known = digests if len(digests) == len(taken.parts) else None
            original = await filing.finish(connection, self._one, known, duplicate_of)
        log.info("archive.filed", archive=taken.archive, name=taken.name, duplicate_of=original)
        return _Ended.FILED if original is None else _Ended.DUPLICATE

    @property
    def _parts(self) -> list[PartToFile]:
        return [
            PartToFile(part.message, part.file, part.name, part.size, part.protected) for part in self._one.taken.parts
        ]


def _require_open(destination: Destination) -> None:
    """Refuse a destination that is known not to take anything, with what to do about it."""
    if destination.may_post:
        return
    lacks = "may not post there" if destination.may_post is False else "does not see it"
    raise NotFiled(
        FailureReason.UPLOAD,
        f'The account that reads the source cannot file to "{destination.title}": it {lacks}. Let it in and '
        "let it write, then run: tidegate channel sync ACCOUNT and tidegate archive retry --all --reason upload",
    )
