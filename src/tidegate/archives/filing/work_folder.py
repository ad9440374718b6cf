"""The folder that parts of archives are downloaded to, and how much of the disk they may use."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.archives.rules.file_names import safe_name
from tidegate.core.errors import BadInput, MachineTrouble
from tidegate.core.files.trusted_files import make_folder, require_trusted_folder
from tidegate.core.ids import ArchiveId

if TYPE_CHECKING:
    from tidegate.archives.filing.partial_file import PartialFile

RESERVE = 1024 * 1024 * 1024
"""How many bytes of the disk are left free, unless the operator sets another reserve."""


NOTHING = -(1 << 60)
"""The room on a disk that accepts nothing at all."""


class NoRoom(MachineTrouble):
    """The disk has no room for a file, or refuses it."""


class Shortage(NoRoom):
    """The disk works, and has not got the room that a file needs beside the reserve."""


@contextmanager
def on_disk(path: Path) -> Iterator[None]:
    """Turn an error of the file system into a sentence about the file."""
    try:
        yield
    except OSError as problem:
        raise NoRoom(
            f"The file {path.name} could not be kept in {path.parent}: {problem.strerror or problem}."
        ) from problem


def free_bytes(path: Path) -> int:
    """How many bytes the disk under *path* has left for us."""
    return shutil.disk_usage(path).free


@dataclass(frozen=True, slots=True)
class DiskState:
    """How many bytes may be written, below zero when not even the reserve is left.

    *trouble* is the sentence for a disk that accepts nothing.
    """

    room: int
    trouble: str | None = None


class WorkFolder:
    """A folder of our own, with one subfolder for each set.

    *host* names this machine since its last boot: partial files are resumed only on the machine and boot that wrote
    them, and never without it. *machine* is the name that people read.
    """

    def __init__(
        self,
        path: Path,
        *,
        reserve: int = RESERVE,
        host: str = "",
        free: Callable[[Path], int] = free_bytes,
        what: str = "Archives",
    ) -> None:
        """*free* returns how many bytes the disk under a path has left; *what* is kept there, for people."""
        self.path = path
        self.host = host
        self.machine = f"{platform.node()}:{path}"
        self._reserve = reserve
        self._free_under = free
        self._what = what
        self._close_to_others()

    def place(self, archive: ArchiveId, number: int, name: str) -> Path:
        """Where a part is stored. Its name comes from outside, so it is made safe first (S-84)."""
        return self.path / str(archive) / f"{number:04} {safe_name(name)}"

    def sets(self) -> set[ArchiveId]:
        """The sets that have files here."""
        with on_disk(self.path):
            if not self.path.is_dir():
                return set()
            return {ArchiveId(int(one.name)) for one in self.path.iterdir() if one.name.isdecimal()}

    def held(self) -> dict[ArchiveId, int]:
        """How many bytes the files of each set use."""
        with on_disk(self.path):
            return {archive: _bytes_in(self.path / str(archive)) for archive in self.sets()}

    def look(self, wanted: int) -> DiskState:
        """How much room there is. *wanted* bytes are reserved for a moment, which is the only way to notice a quota."""
        try:
            with on_disk(self.path):
                self._make()
                room = self._free() - self._reserve
                if 0 < wanted <= room:
                    with tempfile.TemporaryFile(dir=self.path) as probe:
                        os.posix_fallocate(probe.fileno(), 0, wanted)
        except NoRoom as problem:
            return DiskState(NOTHING, str(problem))
        return DiskState(room)

    def shortage(self, needed: int) -> str:
        """The sentence for what waits, the smallest of which needs *needed* bytes."""
        return (
            f"{self._what} wait for room on the disk: the least of them needs {needed:,} bytes in {self.path}, where "
            f"{self._free():,} are free and {self._reserve:,} must stay free. Make room; they resume automatically."
        )

    def _free(self) -> int:
        return self._free_under(self.path)

    def clear(self, archives: Collection[ArchiveId]) -> None:
        """Delete all files of these sets."""
        for archive in archives:
            shutil.rmtree(self.path / str(archive), ignore_errors=True)

    def lack(self, needed: int) -> int:
        """How many of *needed* bytes the disk lacks beside the reserve; zero or less when it has all."""
        with on_disk(self.path):
            self._make()
            return needed + self._reserve - self._free() if needed > 0 else 0

    def require_room(self, needed: int) -> None:
        """Raise ``Shortage`` when the disk has not got *needed* more bytes beside the reserve."""
        if self.lack(needed) > 0:
            raise Shortage(self.shortage(needed))

    def open(self, file: PartialFile) -> None:
        """Open a file for a download and reserve its space on the disk; ``Shortage`` when there is not enough.

        The space is reserved at once and not block by block, one file at a time on this machine. Otherwise downloads of
        several accounts or processes could each end up with a part of the space they need.
        """
        with on_disk(self.path):
            self._make()
            with _alone(self.path):
                self.require_room(file.lacking)
                file.open()

    def _make(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        make_folder(self.path, 0o700)

    def _close_to_others(self) -> None:
        """Remove other users' rights to an existing folder; where they could write, its content is deleted.

        It may be a link to another disk of the operator's.
        """
        if not self.path.is_dir():
            return
        folder = self.path.resolve()
        require_trusted_folder(folder.parent, "folder of the work folder")
        found = folder.stat()
        if found.st_uid != os.geteuid():
            raise BadInput(f"The work folder {folder} belongs to another user. Remove it.")
        if not found.st_mode & 0o077:
            return
        with on_disk(folder):
            folder.chmod(0o700)
            if found.st_mode & 0o022:
                for left in folder.iterdir():
                    _remove(left)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes that use the same folder waiting."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _bytes_in(folder: Path) -> int:
    """How much of the disk the files of a folder use."""
    return sum(one.stat().st_blocks * 512 for one in folder.glob("*") if one.is_file())
