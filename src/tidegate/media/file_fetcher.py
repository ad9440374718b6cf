"""Files of an account fetched in the background: a channel at a time, a hundred files a batch, a few at once.

Bytes are stored first, then the row: a kill in between leaves bytes without a row, which the next try finds again.
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import timedelta

import structlog

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.archives.filing.download import IncompleteFile
from tidegate.archives.filing.work_folder import Shortage, WorkFolder
from tidegate.core.clock import Clock
from tidegate.core.errors import (
    ENDS_CYCLE,
    ChannelGone,
    LongWait,
    MachineTrouble,
    NotSent,
    OutcomeUnknown,
    PlatformError,
)
from tidegate.core.ids import AccountId, ChannelKey
from tidegate.core.task_groups import each
from tidegate.database.pool import Connection, Database, now_of
from tidegate.events.kinds.media import MediaFailed, MediaKept
from tidegate.events.queries import feed
from tidegate.lanes import Lane
from tidegate.media.download import FetchedFile, fetch_file
from tidegate.media.file_decisions import apply_policy
from tidegate.media.file_sources import FileSource, FileSources, NotKept, SourceLost
from tidegate.media.queries import media_blobs, media_files, media_pauses, media_rules
from tidegate.media.queries.media_files import KeptBytes, WantedFile
from tidegate.media.queries.media_rules import MediaPolicy
from tidegate.media.rules.fetch_retry import next_try
from tidegate.media.rules.media_policy import FilePart, MediaPlace, SkipReason, largest_fetched, policy_for
from tidegate.media.space_reservations import AccountSpace, LimitReached, ReservedSpace, SpaceLimits
from tidegate.media.store import MediaStore
from tidegate.media.thumbnails.thumbnailer import PICTURES
from tidegate.platforms.interface import CannotAsk

BATCH = 100
AT_ONCE = 6
"""Files in work. While some are stored others are read; how many calls are in flight is up to the lane."""

LARGE = 20 * 1_000_000
LARGE_AT_ONCE = 2
"""Telegram's own clients read no more than two files of more than 20 MB at a time; each is read in several parts."""

LARGEST_STILL = 2_000_000
"""How many bytes a platform's small picture of a file may have."""

RECORDED_EVERY = timedelta(seconds=10)

_CONNECTION_TROUBLE = (NotSent, OutcomeUnknown, LongWait)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class MediaSetup:
    """Where files go."""

    store: MediaStore  # where they are kept
    work: WorkFolder  # where they are while they are fetched


@dataclass(slots=True)
class FetchResult:
    """What became of the files of a run."""

    kept: int = 0
    bytes: int = 0
    skipped: int = 0
    failed: int = 0
    gone: int = 0  # their messages no longer have them
    paused: str | None = None  # why the run ended early


@dataclass(slots=True)
class _KeptTally:
    """Kept files that no event has reported yet: one event for all of some seconds."""

    clock: Clock
    files: int = 0
    bytes: int = 0
    recorded_at: float | None = None

    def add(self, size: int) -> None:
        self.files += 1
        self.bytes += size

    async def record(self, connection: Connection, account: str, *, at_once: bool) -> None:
        """Record what has come together, unless that was done a moment ago."""
        now = self.clock.ticks()
        recent = self.recorded_at is not None and now - self.recorded_at < RECORDED_EVERY.total_seconds()
        if not self.files or (recent and not at_once):
            return
        await feed.record(connection, account, MediaKept(files=self.files, bytes=self.bytes))
        self.files = self.bytes = 0
        self.recorded_at = now


@dataclass(slots=True)
class AccountMedia:
    """The files that one account fetches."""

    lane: Lane
    database: Database
    clock: Clock
    setup: MediaSetup
    _tally: _KeptTally = field(init=False)
    _space: AccountSpace = field(init=False)
    _paused: bool = field(default=True, init=False)  # an earlier worker may have left a pause
    _cleared: bool = field(default=False, init=False)  # whether this run has cleared what any run noted as a pause
    _last: ChannelKey | None = field(default=None, init=False)
    _trouble: MachineTrouble | None = field(default=None, init=False)
    _large: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LARGE_AT_ONCE), init=False)

    def __post_init__(self) -> None:
        self._tally = _KeptTally(self.clock)
        self._space = AccountSpace(self.lane, self.database, self.setup.store)

    @property
    def _account(self) -> AccountId:
        return self.lane.account.id

    async def run(self, *, most: int | None = None) -> FetchResult:
        """Fetch what is due, at most so many files; ends when nothing is due or nothing can be stored."""
        result = FetchResult()
        self._cleared = False
        try:
            await self._space.clear()
            while most is None or _ended(result) < most:
                while await apply_policy(self.database, self._account):  # it may have changed since the last batch
                    pass
                # After a pause one file shows whether it is over, before others are begun.
                if not await self._batch(result, most=1 if self._paused else min(BATCH, most or BATCH)):
                    break
        except MachineTrouble as trouble:
            result.paused = str(trouble)
            await self._pause(trouble)
        finally:
            await self._tell_rest()
        await self._space.clear()
        return result

    # One batch

    async def _batch(self, result: FetchResult, *, most: int) -> bool:
        """Fetch a batch of the next channel; False when nothing is due."""
        async with self.database.connection() as connection:
            policy = await media_rules.policy(connection)
            channel = await media_files.next_channel(connection, self._account, self._last)
        if channel is None or not policy.state.enabled:
            await self._resume()
            return False
        self._last = channel
        async with self.database.connection() as connection:
            wanted = await media_files.take(connection, self._account, channel, most=most)
            place = await media_rules.place_of(connection, channel)
        if not wanted:
            return True
        sources = FileSources(self.lane, self.database, wanted, policy, place)
        self._trouble = None
        try:
            await each(wanted, lambda one: self._fetch(one, sources, policy, place, result), at_once=AT_ONCE)
        except ChannelGone as gone:
            await self._fail_all(wanted, str(gone), result)
        await self.lane.write_ledger()
        if self._trouble is not None:
            raise self._trouble
        return True

    async def _fetch(
        self, one: WantedFile, sources: FileSources, policy: MediaPolicy, place: MediaPlace, result: FetchResult
    ) -> None:
        """Fetch and keep one file. Its own trouble is recorded; that of the account is raised.

        Trouble of the machine lets files in flight end, and no other is begun.
        """
        if self._trouble is not None:
            return
        rules = policy_for(policy.rules, place, one.kind)
        largest = largest_fetched(rules, archive_part=one.archive_part)
        try:
            if one.handle is None:
                await sources.handle(one)  # its message may announce another size
            expected = sources.expected(one)
            slot = self._large if expected > LARGE else nullcontext()
            limits = SpaceLimits(policy.state, one.channel, rules.whole_limit)
            async with slot, self._space.reserve(one.file, expected, limits) as held:
                await self._fetch_still(one, sources, held)
                source = FileSource(self.lane, sources, one)
                found = await fetch_file(
                    source, self.setup.work, self._account, one, expected=expected, largest=largest, on_size=held.grow
                )
                await self._keep(one, found, result, held)
        except SourceLost:
            async with owned_transaction(self.database, self.lane.claim()) as connection:
                result.gone += not await media_files.lose(connection, one)
        except NotKept as refused:
            await self._skip(one, refused.reason, result)
        except (*ENDS_CYCLE, ChannelGone):
            raise
        except MachineTrouble as trouble:
            self._trouble = trouble
        except CannotAsk as never:
            await self._fail(one, str(never), result, again=False)
        except _CONNECTION_TROUBLE as problem:
            if one.tried and not isinstance(problem, LongWait):
                await self._fail(one, str(problem), result)  # perhaps only this file cannot be read
            else:
                await self._put_off(one, str(problem))
            raise
        except (PlatformError, IncompleteFile) as problem:
            await self._fail(one, str(problem), result)
        finally:
            sources.done(one)

    async def _fetch_still(self, one: WantedFile, sources: FileSources, held: ReservedSpace) -> None:
        """Keep the platform's small picture of a file beside it. Without one the file is kept all the same."""
        still = None if one.pictured else sources.still(one)
        if still is None:
            return
        small = replace(one, part=FilePart.THUMBNAIL)
        source = FileSource(self.lane, sources, one, still=True)
        beside = sources.expected(one)

        async def grow(size: int) -> None:
            await held.grow(beside + size)

        try:
            await grow(still.size)
            found = await fetch_file(
                source,
                self.setup.work,
                self._account,
                small,
                expected=still.size,
                largest=LARGEST_STILL,
                on_size=grow,
            )
            if found.type not in PICTURES or found.size > LARGEST_STILL:
                await asyncio.to_thread(found.path.unlink, missing_ok=True)
                return
            await self._store(found)
        except (*ENDS_CYCLE, *_CONNECTION_TROUBLE, ChannelGone):
            raise
        except (PlatformError, IncompleteFile, NotKept) as problem:
            log.info("media.no_still", account=self.lane.account.name, file=one.file, problem=str(problem))
            return
        async with owned_transaction(self.database, self.lane.claim()) as connection:
            await media_files.pictured(connection, one, KeptBytes(found.sha256, found.size, found.type))

    # What becomes of a file

    async def _store(self, found: FetchedFile) -> None:
        """Put bytes into the store; ``NotKept`` where the operator blocked them."""
        async with self.database.connection() as connection:
            blocked = await media_files.is_blocked(connection, found.sha256)
            await media_blobs.renew(connection, found.sha256)
        if blocked:
            await asyncio.to_thread(found.path.unlink, missing_ok=True)
            raise NotKept(SkipReason.BLOCKED)
        await self.setup.store.put(found.path, found.sha256)

    async def _keep(self, one: WantedFile, found: FetchedFile, result: FetchResult, held: ReservedSpace) -> None:
        await self._store(found)
        async with owned_transaction(self.database, self.lane.claim()) as connection:
            await held.release(connection)
            if await media_files.kept(connection, one, KeptBytes(found.sha256, found.size, found.type)):
                result.kept += 1
                result.bytes += found.size
                self._tally.add(found.size)
                await self._tally.record(connection, self.lane.account.name, at_once=False)
        held.released = True
        await self._resume()

    async def _skip(self, one: WantedFile, reason: SkipReason, result: FetchResult) -> None:
        result.skipped += 1
        async with owned_transaction(self.database, self.lane.claim()) as connection:
            await media_files.skip(connection, [one], reason)

    async def _fail(self, one: WantedFile, sentence: str, result: FetchResult, *, again: bool = True) -> None:
        async with owned_transaction(self.database, self.lane.claim()) as connection:
            at = next_try(one.attempts + 1, await now_of(connection)) if again else None
            if not await media_files.failed(connection, one, sentence, next_try_at=at):
                return
            result.failed += 1
            if at is None:
                told = MediaFailed(
                    file=one.file,
                    channel=one.number,
                    message=one.message,
                    sentence=sentence,
                    attempts=one.attempts + 1,
                    next_try_at=at,
                )
                await feed.record(connection, self.lane.account.name, told)
        log.info("media.not_fetched", account=self.lane.account.name, file=one.file, problem=sentence, next_try_at=at)

    async def _put_off(self, one: WantedFile, sentence: str) -> None:
        """The platform could not be reached: that costs the file no try at first, and others come first."""
        async with owned_transaction(self.database, self.lane.claim()) as connection:
            at = await now_of(connection) + RECORDED_EVERY
            await media_files.failed(connection, one, sentence, next_try_at=at, counts=False)

    async def _fail_all(self, wanted: list[WantedFile], sentence: str, result: FetchResult) -> None:
        """The channel cannot be read: what another channel shows is fetched there, the rest waits for its next try."""
        for one in wanted:
            async with owned_transaction(self.database, self.lane.claim()) as connection:
                moved = await media_files.move(connection, one, elsewhere=True)
            if not moved:
                await self._fail(one, sentence, result)

    # Pauses

    async def _pause(self, trouble: MachineTrouble) -> None:
        """Note once that files wait for the disk, the store or the limit."""
        self._paused = True
        where = (
            "the limit of media"
            if isinstance(trouble, LimitReached)
            else self.setup.work.machine
            if isinstance(trouble, Shortage)
            else self.setup.store.name
        )
        async with owned_transaction(self.database, self.lane.claim()) as connection:
            await media_pauses.note_pause(connection, self._account, where, str(trouble))
        log.warning("media.paused", account=self.lane.account.name, problem=str(trouble))

    async def _resume(self) -> None:
        """Files can be stored: an earlier pause is over, whichever run noted it."""
        if not self._cleared:
            async with owned_transaction(self.database, self.lane.claim()) as connection:
                await media_pauses.clear_pause(connection, self._account)
            self._cleared, self._paused = True, False

    async def _tell_rest(self) -> None:
        if self._tally.files:
            async with self.database.transaction() as connection:
                await self._tally.record(connection, self.lane.account.name, at_once=True)


def _ended(result: FetchResult) -> int:
    return result.kept + result.skipped + result.failed + result.gone
