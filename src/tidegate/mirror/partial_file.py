"""A file that is on its way here, block by block, and the record beside it that a kill leaves behind."""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from hashlib import file_digest
from pathlib import Path

from tidegate.mirror.work_folder import on_disk

BLOCK = 1024 * 1024


class PartialFile:
    """A file of *size* bytes at *path*; all methods but ``missing`` hold their thread while the disk works.

    Until it is whole it has another name, and which blocks have arrived is written beside it: whoever goes on after a
    kill repeats only what was in flight (S-55). What was written before this machine started is not believed, because
    the record may have reached the disk before the block did.
    """

    def __init__(self, path: Path, *, file: int, size: int, host: str) -> None:
        self.path = path
        self.size = size
        self._header = json.dumps({"file": file, "size": size, "host": host}).encode() + b"\n"
        self._believed = bool(host)
        self._data = path.with_name(f"{path.name}.part")
        self._record = path.with_name(f"{path.name}.blocks")
        self._arrived: set[int] = set()
        self._open: tuple[int, int] | None = None
        self._turn = threading.Lock()  # a thread outlives the task that was cancelled, and must not meet a closed file

    @property
    def is_whole(self) -> bool:
        return self.path.is_file() and self.path.stat().st_size == self.size

    @property
    def left(self) -> int:
        """How many bytes are still to come."""
        return sum(self.length(block) for block in self.missing())

    def length(self, block: int) -> int:
        """How many bytes a block has: the last may be short."""
        return min(BLOCK, self.size - block * BLOCK)

    def missing(self) -> list[int]:
        """The blocks that have not arrived, in order."""
        return [block for block in range(-(-self.size // BLOCK)) if block not in self._arrived]

    def open(self) -> None:
        """Go on where the record ends, or begin anew where there is none to be believed."""
        with on_disk(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._arrived = self._recorded()
            if not self._arrived:
                self.drop()
                self._record.write_bytes(self._header)
            flags = os.O_RDWR | os.O_CREAT
            self._open = (os.open(self._data, flags, 0o600), os.open(self._record, flags, 0o600))

    def _recorded(self) -> set[int]:
        if not (self._believed and self._data.is_file() and self._record.is_file()):
            return set()
        written = self._record.read_bytes()
        if not written.startswith(self._header):
            return set()
        return {block for block, mark in enumerate(written[len(self._header) :]) if mark}

    def write(self, block: int, content: bytes) -> None:
        """Keep a block, then note that it is here; nothing happens once it is closed."""
        with self._turn, on_disk(self.path):
            if self._open is None:
                return
            data, record = self._open
            os.pwrite(data, content, block * BLOCK)
            os.pwrite(record, b"\x01", len(self._header) + block)
            self._arrived.add(block)

    def finish(self) -> None:
        """Everything has arrived: from now on it has its own name, and is on the disk for good."""
        assert self._open is not None
        with on_disk(self.path):
            os.fsync(self._open[0])
            self.close()
            self._data.rename(self.path)
            self._record.unlink()

    def close(self) -> None:
        """Take no more blocks; what is here stays."""
        with self._turn:
            for descriptor in self._open or ():
                os.close(descriptor)
            self._open = None

    def drop(self) -> None:
        """Remove all that is here of it."""
        for path in (self.path, self._data, self._record):
            with suppress(FileNotFoundError):
                path.unlink()

    def read(self, offset: int, length: int) -> bytes:
        """Some bytes of the whole file."""
        with on_disk(self.path), self.path.open("rb") as file:
            file.seek(offset)
            return file.read(length)

    def digest(self) -> bytes:
        """The SHA-256 of the whole file."""
        with on_disk(self.path), self.path.open("rb") as file:
            return file_digest(file, "sha256").digest()
