"""One file fetched to the disk: resumed after a kill, and checked against every size that was announced."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from tidegate.archives.filing.download import IncompleteFile, ReadsRanges, download
from tidegate.archives.filing.partial_file import BLOCK, PartialFile
from tidegate.archives.filing.work_folder import WorkFolder, on_disk
from tidegate.core.errors import MachineTrouble
from tidegate.core.ids import AccountId, Sha256
from tidegate.media.file_sources import NotKept
from tidegate.media.queries.media_files import WantedFile
from tidegate.media.rules.content_type import HEAD, content_type
from tidegate.media.rules.media_policy import SkipReason

OnSize = Callable[[int], Awaitable[None]]
"""Receives how many bytes a file has, as far as they have arrived."""

LARGE = 16 * BLOCK
"""Of a larger file the last block is read first: a false size shows before any room is taken on the disk."""


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A complete file on the disk, with what its bytes say."""

    path: Path
    sha256: Sha256
    size: int
    type: str


async def fetch_file(
    source: ReadsRanges,
    work: WorkFolder,
    account: AccountId,
    one: WantedFile,
    *,
    expected: int,
    largest: int | None,
    on_size: OnSize,
) -> FetchedFile:
    """Fetch a file, or find it complete from an earlier try.

    *expected* is its announced size, 0 where nobody says. More than *largest* bytes are never kept: ``NotKept``.
    *on_size* hears how many bytes a file of unknown size has so far, before they are written; it may refuse them.
    """
    path = work.path / f"{account} {one.platform} {one.file} {one.part}"
    if expected:
        await _fetch_announced(source, work, path, one, expected)
    elif await asyncio.to_thread(path.is_file):
        await on_size(await asyncio.to_thread(lambda: path.stat().st_size))
    else:
        await _fetch_unknown(source, work, path, largest, on_size)
    return await asyncio.to_thread(_described, path)


async def _fetch_announced(source: ReadsRanges, work: WorkFolder, path: Path, one: WantedFile, expected: int) -> None:
    found = PartialFile(path, file=one.file, size=expected, host=work.host)
    if await asyncio.to_thread(lambda: found.is_complete):
        return
    last = (expected - 1) // BLOCK
    proof = await source.read(last * BLOCK, BLOCK) if expected > LARGE else b""
    if proof and len(proof) != found.length(last):
        proof = b""
    if expected > LARGE and not proof:
        raise IncompleteFile(f"The platform announced {expected:,} bytes of this file and has another number of them.")
    try:
        await asyncio.to_thread(work.open, found)
        if proof:
            await asyncio.to_thread(found.write, last, proof)
        await download(source, found, _ignored)
    finally:
        found.close()
    if expected % BLOCK == 0 and await source.read(expected, 1024):
        await asyncio.to_thread(found.drop)
        raise IncompleteFile(f"The platform announced {expected:,} bytes of this file and has more of them.")


async def _ignored(_: int) -> None:
    """Files are many and small: their progress is how many are done."""


async def _fetch_unknown(
    source: ReadsRanges, work: WorkFolder, path: Path, largest: int | None, on_size: OnSize
) -> None:
    """Fetch a file of unknown size, one block after the other, until it ends or is too large."""
    unfinished = path.with_name(f"{path.name}.unknown")
    size = 0
    await asyncio.to_thread(_begin, work, unfinished)
    while True:
        block = await source.read(size, BLOCK)
        size += len(block)
        try:
            _require_most(size, largest)
            await on_size(size)
        except (NotKept, MachineTrouble):
            await asyncio.to_thread(unfinished.unlink, missing_ok=True)
            raise
        await asyncio.to_thread(_append, work, unfinished, block)
        if len(block) < BLOCK:
            await asyncio.to_thread(_finish, unfinished, path)
            return


def _require_most(size: int, largest: int | None) -> None:
    if largest is not None and size > largest:
        raise NotKept(SkipReason.SIZE)


def _begin(work: WorkFolder, path: Path) -> None:
    work.require_room(BLOCK)
    with on_disk(path):
        path.write_bytes(b"")
        path.chmod(0o600)


def _append(work: WorkFolder, path: Path, block: bytes) -> None:
    work.require_room(len(block))
    with on_disk(path), path.open("ab") as file:
        file.write(block)


def _finish(unfinished: Path, path: Path) -> None:
    """Its own name means that all of it is on the disk, so it must be there before."""
    with on_disk(path), unfinished.open("rb") as file:
        os.fsync(file.fileno())
        unfinished.rename(path)


def _described(path: Path) -> FetchedFile:
    with on_disk(path), path.open("rb") as file:
        head = file.read(HEAD)
        file.seek(0)
        digest = Sha256(file_digest(file, "sha256").digest())
        size = file.seek(0, 2)
    return FetchedFile(path, digest, size, content_type(head))
