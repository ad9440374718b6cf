"""Bytes as plain files in a folder: ``ab/cd/SHA256``. No library is needed to read them or to back them up."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from io import BufferedReader
from itertools import islice
from pathlib import Path

from tidegate.core.files.durable_files import flush, os_errors
from tidegate.core.files.trusted_files import make_folder
from tidegate.core.ids import Sha256
from tidegate.media.store import CHUNK, BytesMissing, StoredBytes, StoreTrouble, digest_in, key_of

_LISTED_AT_ONCE = 1_000


class LocalStore:
    """A folder that only this user can read (``MediaStore``)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def name(self) -> str:
        return str(self._folder)

    def free(self) -> int | None:
        with _trouble(self._folder):
            self._make(self._folder)
            return shutil.disk_usage(self._folder).free

    async def put(self, path: Path, sha256: Sha256) -> None:
        await asyncio.to_thread(self._put, path, sha256)

    async def read(self, sha256: Sha256, *, offset: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        path = self._path(sha256)
        left = length
        with _trouble(path):
            file = await asyncio.to_thread(_open, path)
            try:
                await asyncio.to_thread(file.seek, offset)
                while left is None or left > 0:
                    piece = await asyncio.to_thread(file.read, CHUNK if left is None else min(CHUNK, left))
                    if not piece:
                        return
                    left = None if left is None else left - len(piece)
                    yield piece
            finally:
                file.close()

    async def size(self, sha256: Sha256) -> int | None:
        path = self._path(sha256)
        with _trouble(path), suppress(FileNotFoundError):
            return (await asyncio.to_thread(path.stat)).st_size
        return None

    async def delete(self, sha256: Sha256) -> None:
        path = self._path(sha256)
        with _trouble(path):
            await asyncio.to_thread(path.unlink, missing_ok=True)

    async def entries(self) -> AsyncIterator[StoredBytes]:
        found = self._walk()
        while some := await asyncio.to_thread(lambda: list(islice(found, _LISTED_AT_ONCE))):
            for one in some:
                yield one

    # On the disk

    def _path(self, sha256: Sha256) -> Path:
        return self._folder / key_of(sha256)

    def _put(self, path: Path, sha256: Sha256) -> None:
        """The file reaches the disk first, then gets its name, and then the name reaches the disk."""
        target = self._path(sha256)
        with _trouble(target):
            with suppress(FileNotFoundError):
                os.utime(target)  # a sweep must not take it for an orphan of long ago
                path.unlink()
                return
            self._make(target.parent)
            flush(path)
            path.chmod(0o600)
            _move(path, target)
            flush(target.parent)

    def _make(self, folder: Path) -> None:
        """Make a folder and those above it up to ours; each new name reaches the disk."""
        if folder.is_dir():
            return
        if folder != self._folder:
            self._make(folder.parent)
        else:
            folder.parent.mkdir(parents=True, exist_ok=True)
        if make_folder(folder, 0o700):
            flush(folder.parent)

    def _walk(self) -> Iterator[StoredBytes]:
        with _trouble(self._folder):
            for path in self._folder.glob("[0-9a-f][0-9a-f]/[0-9a-f][0-9a-f]/*"):
                sha256 = digest_in(path.relative_to(self._folder).as_posix())
                if sha256 is None:
                    continue
                with suppress(FileNotFoundError):
                    found = path.stat()
                    yield StoredBytes(sha256, found.st_size, datetime.fromtimestamp(found.st_mtime, UTC))


def _open(path: Path) -> BufferedReader:
    try:
        return path.open("rb")
    except FileNotFoundError as problem:
        raise BytesMissing(f"The store has no file {path.name}.") from problem


def _move(path: Path, target: Path) -> None:
    """Rename; from another disk, copy beside the target first."""
    try:
        path.rename(target)
    except OSError as problem:
        if problem.errno != errno.EXDEV:
            raise
        copy = target.with_name(f".{target.name}.{os.getpid()}")
        shutil.copyfile(path, copy)
        copy.chmod(0o600)
        flush(copy)
        copy.rename(target)
        path.unlink()


def _trouble(path: Path) -> AbstractContextManager[None]:
    return os_errors(lambda why: StoreTrouble(f"The media folder cannot be used at {path}: {why}."))
