"""The files a reminder names, read from the operator's disk before anything is stored."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from tidegate.errors import BadInput
from tidegate.reminders.reminder import Reminder

LARGEST = 100_000_000
"""In bytes; platforms take less of most kinds, and a file is held in memory while it is uploaded."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file's content with what it is known by."""

    sha256: bytes
    content: bytes
    mime: str


async def read_files(reminder: Reminder, folder: Path, *, kept: Mapping[str, bytes]) -> dict[str, ReadFile]:
    """The files of a reminder's parts that lie in *folder*; one that does not may be *kept* from before."""
    found = {}
    for name in dict.fromkeys(part.media for part in reminder.parts if part.media is not None):
        path = folder / name
        if name not in kept or await asyncio.to_thread(path.is_file):
            found[name] = await asyncio.to_thread(_read, name, path)
    return found


def as_read(name: str, content: bytes) -> ReadFile:
    """A file whose content is here already; a sentence for one that no platform would take."""
    if not content:
        raise BadInput(f'The file "{name}" is empty.')
    if len(content) > LARGEST:
        raise _too_large(name)
    mime, _ = mimetypes.guess_type(name)
    return ReadFile(sha256(content).digest(), content, mime or "application/octet-stream")


def _too_large(name: str) -> BadInput:
    return BadInput(f'The file "{name}" is larger than {LARGEST // 1_000_000} MB, the most a reminder carries.')


def _read(name: str, path: Path) -> ReadFile:
    try:
        if path.stat().st_size > LARGEST:
            raise _too_large(name)
        return as_read(name, path.read_bytes())
    except OSError as problem:
        raise BadInput(f'The file "{name}" cannot be read: {problem.strerror}. Looked for it at {path}.') from problem
