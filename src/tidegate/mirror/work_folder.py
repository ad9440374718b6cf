"""The folder in which the parts of archives lie while they are worked on, and how much of the disk they may take."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from tidegate.errors import TidegateError
from tidegate.rules.naming import safe_name

RESERVE = 1024 * 1024 * 1024
"""How many bytes of the disk are left to others, unless the operator says otherwise."""


class NoRoom(TidegateError):
    """The disk has no room for a file, or does not take it."""


@contextmanager
def on_disk(path: Path) -> Iterator[None]:
    """Around what is done with a file: what the system minds becomes a sentence."""
    try:
        yield
    except OSError as problem:
        raise NoRoom(
            f"The file {path.name} could not be kept in {path.parent}: {problem.strerror or problem}."
        ) from problem


class WorkFolder:
    """A folder of our own, with one for each set. *host* names this machine since its last boot: what lies here in
    parts is believed only by whom was there when it was written. Without it nothing is."""

    def __init__(self, path: Path, *, reserve: int = RESERVE, host: str = "") -> None:
        self.path = path
        self.host = host
        self._reserve = reserve
        self._promised = 0

    def place(self, archive: int, number: int, name: str) -> Path:
        """Where a part lies. Its name is a stranger's word, so only what is safe of it is used (S-84)."""
        return self.path / str(archive) / f"{number:04} {safe_name(name)}"

    def sets(self) -> set[int]:
        """The sets of which something lies here."""
        if not self.path.is_dir():
            return set()
        return {int(one.name) for one in self.path.iterdir() if one.name.isdecimal()}

    def clear(self, archives: Collection[int]) -> None:
        """Remove everything of these sets."""
        for archive in archives:
            shutil.rmtree(self.path / str(archive), ignore_errors=True)

    @contextmanager
    def room(self, needed: int) -> Iterator[None]:
        """Keep room for so many bytes more; ``NoRoom`` when the disk has not got them beside the reserve.

        What this process has promised to others and they have not written yet counts as taken.
        """
        with on_disk(self.path):
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            free = shutil.disk_usage(self.path).free
        if free - self._promised - needed < self._reserve:
            raise NoRoom(
                f"The file needs {needed:,} bytes in {self.path}, where {free:,} are free and {self._reserve:,} are "
                "kept for others; make room on the disk, then it is tried again."
            )
        self._promised += needed
        try:
            yield
        finally:
            self._promised -= needed
