"""An uploaded file for reminders: its size and type are checked before it is stored."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import HTTPException, Request

from tidegate.archives.rules.preview_choice import picture_type
from tidegate.core.errors import BadInput
from tidegate.database.pool import Database
from tidegate.platforms.interface.uploads import MediaKind
from tidegate.reminders.queries import media_files
from tidegate.reminders.reminder_files import LARGEST, as_read
from tidegate.reminders.reminder_parser import kind_of
from tidegate.reminders.rules.media_names import plain_file_name

_VIDEO_MARKS = ((4, b"ftyp"), (0, b"\x1aE\xdf\xa3"))  # mp4 and its kin; webm


@dataclass(frozen=True, slots=True)
class FileKept:
    """A stored file that a reminder can name; *sha256* identifies its content."""

    name: str
    sha256: str
    size: int
    kind: MediaKind


async def take_file(request: Request, database: Database, name: str) -> FileKept:
    """Store the body of *request* by its hash; a file that no reminder uses within a day is deleted."""
    try:
        name = plain_file_name(name)
    except ValueError as problem:
        raise BadInput(str(problem)) from problem
    content = await _body(request)
    file = await asyncio.to_thread(as_read, name, content)
    kind = kind_of(name)
    _require_type(name, kind, content)
    async with database.transaction() as connection:
        await media_files.keep(connection, file.sha256, file.content, file.mime)
    return FileKept(name, file.sha256.hex(), len(content), kind)


async def _body(request: Request) -> bytes:
    pieces, heard = [], 0
    async for piece in request.stream():
        heard += len(piece)
        if heard > LARGEST:
            raise HTTPException(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A file may have {LARGEST // 1_000_000} MB; this one is larger."
            )
        pieces.append(piece)
    return b"".join(pieces)


def _require_type(name: str, kind: MediaKind, content: bytes) -> None:
    """A file named as a picture or a video must start like one: platforms would refuse it, group by group."""
    if kind is MediaKind.PICTURE and picture_type(content) is None:
        raise BadInput(f'"{name}" is not a valid picture.')
    if kind is MediaKind.VIDEO and not any(content[at:].startswith(mark) for at, mark in _VIDEO_MARKS):
        raise BadInput(f'"{name}" is not a valid video.')
