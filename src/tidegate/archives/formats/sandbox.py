"""Lists what is inside an archive: a child process with limited rights reads the headers.

Invariant: nothing-blocks-the-loop.
"""

from __future__ import annotations

import asyncio
import platform
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.archives.rules.contained_file import ContainedFile
from tidegate.archives.rules.file_names import ArchiveKind, safe_name
from tidegate.core.child_protocol import pack
from tidegate.core.errors import TidegateError
from tidegate.core.sandbox.limited_child import LimitExceeded, SuccessiveChildren

FORMATS = {
    ArchiveKind.ZIP: "zip",
    ArchiveKind.SPLIT_ZIP: "zip",
    ArchiveKind.SEVEN_ZIP: "7z",
    ArchiveKind.SPLIT_7Z: "7z",
    ArchiveKind.RAR: "rar volumes",
    ArchiveKind.RAR_PARTS: "rar volumes",
    ArchiveKind.SPLIT_RAR: "rar",
    ArchiveKind.TAR: "tar",
    ArchiveKind.SPLIT: "whatever",
}
"""How each kind's list of contents is read. It needs only a little of the archive, or for a packed tar its start."""

Read = Callable[[int, int], Awaitable[bytes]]
"""Reads some bytes of an archive at an offset; fewer only where the archive ends."""

_DEEPEST_PATH = 100
_LEAST_SECONDS = 4
_WAITED_A_SECOND = 5  # of processor time, on a machine that also runs other work
_BYTES_A_SECOND = 4 * 1024 * 1024
_LARGEST_SIZE = (1 << 63) - 1


class NotListed(TidegateError):
    """Reading the list of contents was stopped, because it exceeded a limit."""


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Limits for reading one archive's headers. The first two end the child, the others cut the list."""

    memory: int = 512 * 1024 * 1024  # of the child, in bytes
    seconds: int = 20  # of processor time
    fetched: int = 64 * 1024 * 1024  # bytes of the archive that are read
    reads: int = 500
    entries: int = 20_000
    names: int = 4 * 1024 * 1024  # characters of all names together
    steps: int = 250_000  # headers, and records in them
    inflated: int = 256 * 1024 * 1024  # bytes that a packed list may become

    def seconds_for(self, size: int) -> int:
        """The processor time for an archive of *size* bytes: little for a small one, which has little to be read."""
        return min(self.seconds, _LEAST_SECONDS + size // _BYTES_A_SECOND)

    def job(self, form: str, size: int, parts: Sequence[int]) -> dict[str, Any]:
        """The order to the child: to list an archive of *size* bytes, within these limits."""
        return {
            "format": form, "size": size, "parts": list(parts), "most": self.entries, "names": self.names,
            "memory": self.memory, "seconds": self.seconds_for(size), "fetched": self.fetched, "reads": self.reads,
            "steps": self.steps, "inflated": self.inflated,
        }  # fmt: skip


LIMITS = SandboxLimits()


@dataclass(frozen=True, slots=True)
class ArchiveContents:
    """The files inside an archive, and words about it: ``encrypted``, ``damaged``, ``contents_cut``, ``not_listed``.

    *volumes* is of how many it says it consists, where it says so; *followed*: its last volume says that it is not.
    """

    files: Sequence[ContainedFile]
    flags: Sequence[str]
    volumes: int | None = None
    followed: bool = False


class ContentsSandbox(SuccessiveChildren):
    """Lists archives one after the other."""

    def __init__(self, limits: SandboxLimits = LIMITS) -> None:
        super().__init__("tidegate.archives.formats.sandbox_child", _cannot_start)
        self._limits = limits

    async def read(self, form: str, size: int, read: Read, *, parts: Sequence[int] = ()) -> ArchiveContents:
        """List an archive of *size* bytes, in files of the sizes *parts*; *form* is one of ``FORMATS``.

        A password or a damaged header does not fail: the flags say so and the list is empty. A list beyond the limits
        is cut and flagged. ``NotListed`` is raised when it took too much memory or time, ``MachineTrouble`` when no
        child could be started; errors of *read* pass through. Waiting for bytes does not count towards the child's time
        limit.
        """
        job, fetched = self._limits.job(form, size, parts), 0
        files: list[ContainedFile] = []
        try:
            async with self.child_at_work() as child:
                await child.send(pack(job))
                while "flags" not in (said := (await child.receive(_WAITED_A_SECOND * job["seconds"])).head):
                    if "entries" in said:
                        files += await asyncio.to_thread(_all_inside, said["entries"])
                        continue
                    offset, length = said["read"]
                    fetched += length
                    if fetched > self._limits.fetched:
                        most = self._limits.fetched
                        raise NotListed(f"The list of contents lies in more than {most} bytes of the archive.")
                    await child.send(pack({}, await read(offset, length)))
                flags = [str(flag) for flag in said["flags"]]
                return ArchiveContents(files, flags, said["volumes"], said["followed"])
        except LimitExceeded as problem:
            raise NotListed("The list of contents took more memory or time than allowed.") from problem


def _cannot_start(why: str) -> str:
    return (
        f"Archives wait to be read: the process that reads them cannot be started on {platform.node()}: {why}. Look at "
        "the memory, the processes and the programs of this machine; the archives resume automatically."
    )


def _all_inside(entries: Sequence[Any]) -> list[ContainedFile]:
    return [_inside(*one) for one in entries]


def _inside(path: str, size: int, encrypted: bool) -> ContainedFile:  # noqa: FBT001 - as the child's list has it
    return ContainedFile(safe_path(path), min(max(size, 0), _LARGEST_SIZE), encrypted)


def safe_path(path: str) -> str:
    """A path inside an archive that cannot lead outside: no root, no ``..``, no character that a file system refuses.

    Of a path deeper than people make, only the innermost folders are kept.
    """
    steps = [step for step in re.split(r"[/\\]", path) if step.strip(". ")]
    return "/".join(safe_name(step) for step in steps[-_DEEPEST_PATH:]) or "file"
