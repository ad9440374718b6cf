"""The files a reminder names: read from the operator's folder, or stored before and only named."""

from __future__ import annotations

import asyncio
import mimetypes
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from tidegate.core.errors import BadInput
from tidegate.reminders.definition import Reminder
from tidegate.reminders.rules.media_names import plain_file_name

LARGEST = 100_000_000
"""In bytes; platforms take less of most kinds, and a file is held in memory while it is uploaded."""

_STEP = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC  # opening a pipe must not block the command


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file's content with its hash and media type."""

    sha256: bytes
    content: bytes
    mime: str


def media_names(reminder: Reminder) -> list[str]:
    """The files that a reminder's parts name, each once."""
    return list(dict.fromkeys(part.media for part in reminder.parts if part.media is not None))


async def read_files(reminder: Reminder, folder: Path, *, stored: Collection[str] = ()) -> dict[str, ReadFile]:
    """The files of a reminder's parts, from *folder* and nowhere else.

    Names that are *stored* are left out. They may have come over the API, so they mean the stored content and never
    a file on this disk.
    """
    names = [name for name in media_names(reminder) if name not in stored]
    return {name: await asyncio.to_thread(_read, name, folder) for name in names}


def as_read(name: str, content: bytes) -> ReadFile:
    """A file whose content is in memory; ``BadInput`` for one that no platform would take."""
    if not content:
        raise BadInput(f'The file "{name}" is empty.')
    if len(content) > LARGEST:
        raise _too_large(name)
    mime, _ = mimetypes.guess_type(name)
    return ReadFile(sha256(content).digest(), content, mime or "application/octet-stream")


def with_plain_names(
    reminder: Reminder, sent_ahead: Mapping[str, bytes], *, stored: Mapping[str, bytes] | None = None
) -> tuple[Reminder, dict[str, bytes]]:
    """A reminder that came over the API or a page, and its files, with plain names; ``BadInput`` for any other name.

    A name that is *stored* with the reminder may stay, with the content it has. So an operator who reads files from
    sub-folders can still change the text on the page.
    """
    before = stored or {}

    def plain(name: str) -> str:
        if name in before and sent_ahead.get(name, before[name]) == before[name]:
            return name
        try:
            return plain_file_name(name)
        except ValueError as problem:
            raise BadInput(str(problem)) from problem

    files: dict[str, bytes] = {}
    for name, content in sent_ahead.items():
        if files.setdefault(plain(name), content) != content:
            raise BadInput(f'Two files are called "{plain(name)}"; give one of them another name.')
    parts = [part if part.media is None else replace(part, media=plain(part.media)) for part in reminder.parts]
    return replace(reminder, parts=parts), files


# The disk


def _read(name: str, folder: Path) -> ReadFile:
    try:
        with _opened(name, folder) as (file, size):
            if size > LARGEST:
                raise _too_large(name)
            return as_read(name, _content(file, size))
    except OSError as problem:
        raise BadInput(f'The file "{name}" cannot be read: {problem.strerror}. Looked for it in {folder}.') from problem


@contextmanager
def _opened(name: str, folder: Path) -> Iterator[tuple[int, int]]:
    """A regular file inside *folder* and its size.

    Links are followed while they stay inside. The path they lead to is then opened step by step without following
    any, so no link can be put in after the check.
    """
    home = folder.resolve(strict=True)
    path = (home / name).resolve(strict=True)
    if not path.is_relative_to(home) or path == home:
        raise BadInput(f'The file "{name}" lies outside {home}; a reminder takes files of its own folder only.')
    *steps, last = path.relative_to(home).parts
    at = os.open(home, _STEP)
    try:
        for step in steps:
            at, above = os.open(step, _STEP, dir_fd=at), at
            os.close(above)
        file = os.open(last, _FILE, dir_fd=at)
    finally:
        os.close(at)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise BadInput(f'"{name}" is not a regular file.')
        yield file, found.st_size
    finally:
        os.close(file)


def _content(file: int, size: int) -> bytes:
    """As many bytes as the file had when it was opened, however fast it grows."""
    with os.fdopen(file, "rb", closefd=False) as opened:
        return opened.read(size)


def _too_large(name: str) -> BadInput:
    return BadInput(f'The file "{name}" is larger than {LARGEST // 1_000_000} MB, the most a reminder carries.')
