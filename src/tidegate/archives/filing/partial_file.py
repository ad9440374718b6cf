"""A file that is being downloaded block by block, and the record beside it that survives a kill."""

from __future__ import annotations

import errno
import json
import os
import threading
from contextlib import suppress
from hashlib import file_digest
from pathlib import Path

from tidegate.archives.filing.work_folder import on_disk
from tidegate.core.ids import FileId

BLOCK = 1024 * 1024

_CANNOT_RESERVE = (errno.EOPNOTSUPP, errno.EINVAL)
"""The errors of a file system that cannot reserve space; EINVAL is also its error for an empty file."""


class PartialFile:
    """A file of *size* bytes at *path*; all methods but ``missing`` block their thread while the disk works.

    Until it is complete it has another name, and a record beside it lists the blocks that have arrived. After a kill
    only the blocks in flight are fetched again (S-55). A record from before the machine's last boot is ignored: it may
    have reached the disk before its block did.
    """

    def __init__(self, path: Path, *, file: FileId, size: int, host: str) -> None:
        self.path = path
        self.size = size
        self._header = json.dumps({"file": file, "size": size, "host": host}).encode() + b"\n"
        self._believed = bool(host)
        self._data = path.with_name(f"{path.name}.part")
        self._record = path.with_name(f"{path.name}.blocks")
        self._arrived: set[int] = set()
        self._open: tuple[int, int] | None = None
        self._lock = threading.Lock()  # a thread may outlive its cancelled task, and must not use a closed file

    @property
    def is_complete(self) -> bool:
        return self.path.is_file() and self.path.stat().st_size == self.size

    @property
    def left(self) -> int:
        """How many bytes are still to come."""
        return sum(self.length(block) for block in self.missing())

    @property
    def lacking(self) -> int:
        """How many more bytes of the disk it needs."""
        with on_disk(self.path), suppress(FileNotFoundError):
            return max(0, self.size - self._data.stat().st_blocks * 512)
        return self.size

    def length(self, block: int) -> int:
        """How many bytes a block has: the last may be short."""
        return min(BLOCK, self.size - block * BLOCK)

    def missing(self) -> list[int]:
        """The blocks that have not arrived, in order."""
        return [block for block in range(-(-self.size // BLOCK)) if block not in self._arrived]

    def open(self) -> None:
        """Resume where the record ends, or start over where there is no valid record; reserve all its space now."""
        with on_disk(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._arrived = self._recorded()
            if not self._arrived:
                self.drop()
                self._record.write_bytes(self._header)
            flags = os.O_RDWR | os.O_CREAT
            self._open = (os.open(self._data, flags, 0o600), os.open(self._record, flags, 0o600))
            try:
                os.posix_fallocate(self._open[0], 0, self.size)
            except OSError as problem:
                if problem.errno not in _CANNOT_RESERVE:
                    raise

    def _recorded(self) -> set[int]:
        if not (self._believed and self._data.is_file() and self._record.is_file()):
            return set()
        written = self._record.read_bytes()
        if not written.startswith(self._header):
            return set()
        return {block for block, mark in enumerate(written[len(self._header) :]) if mark}

    def write(self, block: int, content: bytes) -> None:
        """Write a block, then record it; does nothing once the file is closed."""
        with self._lock, on_disk(self.path):
            if self._open is None:
                return
            data, record = self._open
            os.pwrite(data, content, block * BLOCK)
            os.pwrite(record, b"\x01", len(self._header) + block)
            self._arrived.add(block)

    def finish(self) -> None:
        """Everything has arrived: flush the file to the disk and give it its own name."""
        assert self._open is not None
        with on_disk(self.path):
            os.fsync(self._open[0])
            self.close()
            self._data.rename(self.path)
            self._record.unlink()

    def close(self) -> None:
        """Accept no more blocks; what was written stays."""
        with self._lock:
            for descriptor in self._open or ():
                os.close(descriptor)
            self._open = None

    def drop(self) -> None:
        """Delete the file, its partial data and its record."""
        for path in (self.path, self._data, self._record):
            with on_disk(self.path), suppress(FileNotFoundError):
                path.unlink()

    def read(self, offset: int, length: int) -> bytes:
        """Some bytes of the complete file."""
        with on_disk(self.path), self.path.open("rb") as file:
            file.seek(offset)
            return file.read(length)

    def digest(self) -> bytes:
        """The SHA-256 of the complete file."""
        with on_disk(self.path), self.path.open("rb") as file:
            return file_digest(file, "sha256").digest()
