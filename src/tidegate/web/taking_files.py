"""A file for reminders that a request brings as its body: checked by size and type before anything of it is kept."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import PurePath

from fastapi import HTTPException, Request

from tidegate.errors import BadInput
from tidegate.port.media import MediaKind
from tidegate.reminders.files import LARGEST, as_read
from tidegate.reminders.written import kind_of
from tidegate.rules.previewing import picture_type
from tidegate.store import media
from tidegate.store.database import Database

_VIDEO_MARKS = ((4, b"ftyp"), (0, b"\x1aE\xdf\xa3"))  # mp4 and its kin; webm


@dataclass(frozen=True, slots=True)
class FileKept:
    """A file that a reminder can name now; *sha256* is what its content is known by."""

    name: str
    sha256: str
    size: int
    kind: MediaKind


async def take_file(request: Request, database: Database, name: str) -> FileKept:
    """Keep the body of *request* under its content; one that no reminder names within a day is removed again."""
    if PurePath(name).name != name or not name.isprintable() or len(name) > 200:
        raise BadInput("The file needs a plain name of at most 200 characters.")
    content = await _body(request)
    file = await asyncio.to_thread(as_read, name, content)
    kind = kind_of(name)
    _require_type(name, kind, content)
    async with database.transaction() as connection:
        await media.keep(connection, file.sha256, file.content, file.mime)
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
    """A file that is called a picture or a video must begin as one: platforms refuse it otherwise, group by group."""
    if kind is MediaKind.PICTURE and picture_type(content) is None:
        raise BadInput(f'"{name}" is called a picture and is none.')
    if kind is MediaKind.VIDEO and not any(content[at:].startswith(mark) for at, mark in _VIDEO_MARKS):
        raise BadInput(f'"{name}" is called a video and is none.')
