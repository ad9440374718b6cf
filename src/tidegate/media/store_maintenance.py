"""The store and the database compared: every hash checked, orphans swept, files removed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path

import structlog

from tidegate.core.clock import Clock
from tidegate.core.errors import MachineTrouble
from tidegate.core.ids import Sha256
from tidegate.core.task_groups import each
from tidegate.database.pool import TROUBLE, Database, now_of
from tidegate.events.kinds.media import MediaRemoved
from tidegate.events.queries import feed
from tidegate.media.file_fetcher import MediaSetup
from tidegate.media.queries import media_blobs, media_files
from tidegate.media.queries.media_blobs import MediaBlob
from tidegate.media.store import BytesMissing, MediaStore, StoredBytes

GRACE = timedelta(days=1)
"""Bytes without a row are an orphan only when they are older: a worker may be about to write the row."""

SWEEP_EVERY = timedelta(days=1)

PAGE = 500

DELETED_AT_ONCE = 50
"""How many bytes a sweep deletes in one transaction, whose rows nobody else can use meanwhile."""

DELETES_IN_FLIGHT = 8

log = structlog.get_logger()

OnChecked = Callable[[int, int], None]
"""Receives how many files and bytes have been checked or deleted so far."""


@dataclass(slots=True)
class VerifyReport:
    """What is kept, as the database and the store say."""

    checked: int = 0
    bytes: int = 0
    missing: int = 0  # rows without bytes
    damaged: int = 0  # rows whose bytes are others
    orphans: int = 0  # bytes without a row
    orphan_bytes: int = 0
    wanted_again: int = 0  # files that are fetched once more

    @property
    def is_sound(self) -> bool:
        return not self.missing and not self.damaged


@dataclass(slots=True)
class SweepReport:
    """What a sweep deleted."""

    orphans: int = 0  # bytes without a row
    unused: int = 0  # bytes that no file has
    partial: int = 0  # files that were left half fetched
    bytes: int = 0


async def verify(
    database: Database, store: MediaStore, *, repair: bool, quick: bool = False, on_checked: OnChecked | None = None
) -> VerifyReport:
    """Compare every row with its bytes, by size alone when *quick*, and look for bytes without a row.

    With *repair*, files whose bytes are lost are wanted again, and damaged bytes are deleted.
    """
    report = VerifyReport()
    after: Sha256 | None = None
    while True:
        async with database.connection() as connection:
            blobs = await media_blobs.page(connection, after, most=PAGE)
        if not blobs:
            break
        await _check_page(database, store, blobs, report, repair=repair, quick=quick)
        if on_checked is not None:
            on_checked(report.checked, report.bytes)
        after = blobs[-1].sha256
    async for one in orphans(database, store, before=None):
        report.orphans += 1
        report.orphan_bytes += one.size
    return report


async def _check_page(
    database: Database, store: MediaStore, blobs: list[MediaBlob], report: VerifyReport, *, repair: bool, quick: bool
) -> None:
    missing: list[Sha256] = []
    damaged: list[Sha256] = []
    found: list[Sha256] = []
    for one in blobs:
        try:
            sound = await _is_sound(store, one, quick=quick)
        except BytesMissing:
            missing.append(one.sha256)
        else:
            (found if sound else damaged).append(one.sha256)
        report.checked += 1
        report.bytes += one.size
    report.missing += len(missing)
    report.damaged += len(damaged)
    if repair:
        for sha256_ in damaged:
            await store.delete(sha256_)
    async with database.transaction() as connection:
        await media_blobs.note_found(connection, found)
        report.wanted_again += await media_blobs.note_missing(connection, [*missing, *damaged], refetch=repair)


async def _is_sound(store: MediaStore, one: MediaBlob, *, quick: bool) -> bool:
    size = await store.size(one.sha256)
    if size is None:
        raise BytesMissing(f"The store has no bytes of {one.sha256.hex()}.")
    if size != one.size or quick:
        return size == one.size
    digest = sha256()
    async for piece in store.read(one.sha256):
        await asyncio.to_thread(digest.update, piece)
    return digest.digest() == one.sha256


async def orphans(database: Database, store: MediaStore, *, before: datetime | None) -> AsyncIterator[StoredBytes]:
    """Bytes in the store that no row knows, put there before *before* where it is given; some at a time."""
    page: list[StoredBytes] = []

    async def unknown() -> list[StoredBytes]:
        async with database.connection() as connection:
            known = await media_blobs.known(connection, [one.sha256 for one in page])
        found = [one for one in page if one.sha256 not in known]
        page.clear()
        return found

    async for one in store.entries():
        if before is None or one.put_at < before:
            page.append(one)
        if len(page) >= PAGE:
            for orphan in await unknown():
                yield orphan
    for orphan in await unknown():
        yield orphan


async def sweep(
    database: Database,
    setup: MediaSetup,
    *,
    grace: timedelta = GRACE,
    orphans_too: bool = True,
    on_swept: OnChecked | None = None,
) -> SweepReport:
    """Delete what is no longer needed: bytes with their rows, and bytes without a row.

    It can be ended at any time: the next one does the rest. *on_swept* receives what is deleted so far.
    """
    report = SweepReport()
    async with database.connection() as connection:
        before = await now_of(connection) - grace
    await _move_stuck(database)
    await _end_unshown(database, before)
    await _sweep_unused(database, setup.store, before, report, on_swept or _untold)
    if orphans_too:
        async for one in orphans(database, setup.store, before=before):
            await setup.store.delete(one.sha256)
            report.orphans += 1
            report.bytes += one.size
            (on_swept or _untold)(report.orphans + report.unused, report.bytes)
    report.partial = await _sweep_partial(database, setup.work.path)
    return report


def _untold(_files: int, _size: int) -> None:
    """Nobody watches."""


async def _move_stuck(database: Database) -> None:
    """Files whose channel nobody can read any more are fetched from another channel that shows them."""
    after: tuple[str, int] | None = None
    while True:
        async with database.transaction() as connection:
            after = await media_files.move_stuck(connection, after, most=PAGE)
        if after is None:
            return


async def _end_unshown(database: Database, before: datetime) -> None:
    """Files that an edit removed from their message have no use for their bytes."""
    after: tuple[str, int] | None = None
    while True:
        async with database.transaction() as connection:
            after = await media_files.end_unshown(connection, after, before, most=PAGE)
        if after is None:
            return


async def _sweep_unused(
    database: Database, store: MediaStore, before: datetime, report: SweepReport, on_swept: OnChecked
) -> None:
    """Delete bytes while their rows are held: who wants them again waits, and trouble of the store keeps the rows."""
    after: Sha256 | None = None
    while True:
        async with database.connection() as connection:
            page = await media_blobs.unused(connection, before, after=after, most=PAGE)
        for first in range(0, len(page.unused), DELETED_AT_ONCE):
            async with database.transaction() as connection:
                some = page.unused[first : first + DELETED_AT_ONCE]
                dropped = await media_blobs.drop_unused(connection, some, before)
                await each(dropped, lambda one: store.delete(one.sha256), at_once=DELETES_IN_FLIGHT)
            report.unused += len(dropped)
            report.bytes += sum(one.size for one in dropped)
            on_swept(report.unused, report.bytes)
        if page.last is None:
            return
        after = page.last


async def sweep_daily(database: Database, setup: MediaSetup, clock: Clock) -> None:
    """Sweep when the process starts and once a day (everything-kept-ends); trouble puts it off by a day.

    Bytes without a row are left to the operator: after a restore they may belong to messages that come back.
    """
    while True:
        try:
            report = await sweep(database, setup, orphans_too=False)
            swept = {what: count for what, count in asdict(report).items() if count}
        except (*TROUBLE, MachineTrouble) as problem:
            log.warning("media.sweep_put_off", problem=str(problem))
        else:
            if swept:
                log.info("media.swept", **swept)
        await clock.sleep(SWEEP_EVERY)


async def _sweep_partial(database: Database, folder: Path) -> int:
    """Delete half-fetched files that nobody wants any more."""
    names = await asyncio.to_thread(_names_in, folder)
    files = {name: (parts[1], int(parts[2])) for name in names if (parts := _parts(name)) is not None}
    async with database.connection() as connection:
        wanted = await media_files.still_wanted(connection, set(files.values()))
    gone = [name for name, file in files.items() if file not in wanted]
    for name in gone:
        await asyncio.to_thread((folder / name).unlink, missing_ok=True)
    return len(gone)


def _names_in(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir()] if folder.is_dir() else []


def _parts(name: str) -> list[str] | None:
    """The account, platform, number and part in the name of a half-fetched file; None for a foreign one."""
    parts = name.split(" ")
    return parts if len(parts) == 4 and parts[2].removeprefix("-").isdecimal() else None


async def remove(database: Database, store: MediaStore, sha256_: Sha256, *, block: bool) -> int | None:
    """Remove bytes from the database and then from the store; how many files had them, None where nobody knew them."""
    async with database.transaction() as connection:
        files = await media_blobs.remove(connection, sha256_, block=block)
        if files is not None or block:
            await feed.record(connection, sha256_.hex(), MediaRemoved(files=files or 0, blocked=block))
    await store.delete(sha256_)
    return files
