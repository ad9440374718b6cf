"""What is inside an archive: its bytes come from wherever they are, and a child process reads the headers (law 13)."""

from __future__ import annotations

import asyncio
import json
import re
import struct
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tidegate
from tidegate.errors import TidegateError
from tidegate.rules.naming import Kind, safe_name

FORMATS = {
    Kind.ZIP: "zip",
    Kind.SPLIT_ZIP: "zip",
    Kind.SEVEN_ZIP: "7z",
    Kind.SPLIT_7Z: "7z",
    Kind.RAR: "rar volumes",
    Kind.RAR_PARTS: "rar volumes",
    Kind.SPLIT_RAR: "rar",
    Kind.TAR: "tar",
    Kind.SPLIT: "whatever",
}
"""How each kind's list of contents is read, which needs only a little of the archive, or for a packed tar its start."""

Read = Callable[[int, int], Awaitable[bytes]]
"""Reads some bytes of an archive at an offset; fewer only where the archive ends."""

_LONGEST_LINE = 4 * 1024 * 1024
_LARGEST_SIZE = (1 << 63) - 1


class NotListed(TidegateError):
    """The list of contents took more than the limits allow, so it was given up."""


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """What reading one archive's headers may take: the child's memory and time, bytes fetched and how often they are
    asked for, and entries kept."""

    memory: int = 512 * 1024 * 1024
    seconds: int = 20
    fetched: int = 64 * 1024 * 1024
    reads: int = 500
    entries: int = 20_000


LIMITS = ReadingLimits()


@dataclass(frozen=True, slots=True)
class Inside:
    """One file inside an archive, under a path that is safe to show and stays inside any folder."""

    path: str
    size: int
    encrypted: bool


@dataclass(frozen=True, slots=True)
class Contents:
    """The files inside an archive, and words about it: ``encrypted``, ``damaged``, ``contents_cut``, ``not_listed``.

    *volumes* is of how many it says it consists, where it says so; *followed*: its last volume says that it is not.
    """

    files: Sequence[Inside]
    flags: Sequence[str]
    volumes: int | None = None
    followed: bool = False


class ContentsReader:
    """Lists archives one after the other with one child, and with a new one after it was ended for taking too much.

    *children* is how many it took so far.
    """

    def __init__(self, limits: ReadingLimits = LIMITS) -> None:
        self.children = 0
        self._limits = limits
        self._child: Process | None = None

    async def __aenter__(self) -> ContentsReader:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end_child()

    async def read(self, form: str, size: int, read: Read, *, parts: Sequence[int] = ()) -> Contents:
        """List an archive of *size* bytes, in files of the sizes *parts*; *form* is one of ``FORMATS``.

        A password or a damaged header is no failure: the flags say so and the list is empty. A list in more bytes than
        may be fetched is what was read of it, flagged as cut. ``NotListed`` is raised when it took too much memory or
        time; whatever *read* raises passes through. The time limit is the child's own: waiting for bytes does not
        count.
        """
        limits = self._limits
        job = {
            "format": form, "size": size, "parts": list(parts), "most": limits.entries, "memory": limits.memory,
            "seconds": limits.seconds, "fetched": limits.fetched, "reads": limits.reads,
        }  # fmt: skip
        if self._child is None:
            self._child = await _start_child()
            self.children += 1
        answered = False
        try:
            found = await _converse(self._child, job, read, limits)
            answered = True
        finally:
            if not answered:  # it is in the midst of something, or dead
                await self._end_child()
        return found

    async def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None and child.returncode is None:
            child.kill()
        if child is not None:
            await child.wait()


async def _start_child() -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tidegate.mirror.reading_child",
        stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=_LONGEST_LINE, cwd="/",
        env={"PYTHONPATH": str(Path(tidegate.__file__).parent.parent), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip


async def _converse(child: Process, job: dict[str, Any], read: Read, limits: ReadingLimits) -> Contents:
    files: list[Inside] = []
    fetched = 0
    await _tell(child, json.dumps(job).encode() + b"\n")
    while True:
        said = await _hear(child, limits)
        if "flags" in said:
            return Contents(files, [str(flag) for flag in said["flags"]], said["volumes"], said["followed"])
        if "entries" in said:
            files += [_inside(*entry) for entry in said["entries"]]
            continue
        offset, length = said["read"]
        fetched += length
        if fetched > limits.fetched:
            raise NotListed(f"The list of contents lies in more than {limits.fetched} bytes of the archive.")
        content = await read(offset, length)
        await _tell(child, struct.pack(">I", len(content)) + content)


async def _tell(child: Process, message: bytes) -> None:
    assert child.stdin is not None
    try:
        child.stdin.write(message)
        await child.stdin.drain()
    except ConnectionError as problem:
        raise NotListed("The list of contents took more memory or time than allowed.") from problem


async def _hear(child: Process, limits: ReadingLimits) -> dict[str, Any]:
    """What the child says next; it has to say something within its time."""
    assert child.stdout is not None
    try:
        async with asyncio.timeout(limits.seconds):
            line = await child.stdout.readline()
    except (TimeoutError, ValueError) as problem:
        raise NotListed("The list of contents took more time or room than allowed.") from problem
    if not line.endswith(b"\n"):
        raise NotListed("The list of contents took more memory or time than allowed.")
    said: dict[str, Any] = json.loads(line)
    return said


def _inside(path: str, size: int, encrypted: bool) -> Inside:  # noqa: FBT001 - as the child's list has it
    return Inside(safe_path(path), min(max(size, 0), _LARGEST_SIZE), encrypted)


def safe_path(path: str) -> str:
    """A path inside an archive without ways out of it: no root, no ``..``, nothing that a file system minds."""
    steps = [step for step in re.split(r"[/\\]", path) if step.strip(". ")]
    return "/".join(safe_name(step) for step in steps) or "file"
