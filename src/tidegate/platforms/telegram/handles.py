"""Files of messages, and the handles they are read by.

A handle is Telegram's own file location with the data centre that holds it. Its reference belongs to one account and
expires; whoever keeps a handle keeps the message it came from as well.
"""

from __future__ import annotations

import base64
import struct
from typing import Any, TypeAlias

from telethon.errors import TypeNotFoundError
from telethon.extensions import BinaryReader
from telethon.tl import types

from tidegate.port import CannotAsk, File, FileHandle, FileId, FileKind, Picture

Location: TypeAlias = types.InputDocumentFileLocation | types.InputPhotoFileLocation

KIB, MIB = 1 << 10, 1 << 20

_SHOWN_AS_MEDIA = (
    types.DocumentAttributeVideo,
    types.DocumentAttributeAudio,
    types.DocumentAttributeAnimated,
    types.DocumentAttributeSticker,
)


def file_of(media: Any) -> File | None:
    """The file a message carries, if it carries one that is still there."""
    if isinstance(media, types.MessageMediaDocument) and isinstance(media.document, types.Document):
        return _document(media.document)
    if isinstance(media, types.MessageMediaPhoto) and isinstance(media.photo, types.Photo):
        return _photo(media.photo)
    return None


def _document(found: types.Document) -> File:
    names = [one.file_name for one in found.attributes if isinstance(one, types.DocumentAttributeFilename)]
    media = any(isinstance(one, _SHOWN_AS_MEDIA) for one in found.attributes)
    location = types.InputDocumentFileLocation(found.id, found.access_hash, found.file_reference, thumb_size="")
    return File(
        id=FileId(found.id),
        name=names[0] if names else "",
        size=found.size,
        mime=found.mime_type,
        kind=FileKind.MEDIA if media else FileKind.DOCUMENT,
        handle=handle_of(location, found.dc_id),
    )


def _photo(found: types.Photo) -> File | None:
    sizes = {one.type: _bytes_of(one) for one in found.sizes if _bytes_of(one)}
    if not sizes:
        return None
    by_bytes = sorted(sizes, key=lambda kind: sizes[kind])
    largest, middle = by_bytes[-1], by_bytes[len(by_bytes) // 2]
    return File(
        id=FileId(found.id),
        name="",
        size=sizes[largest],
        mime="image/jpeg",
        kind=FileKind.PHOTO,
        handle=_photo_handle(found, largest),
        picture=Picture(sizes[middle], _photo_handle(found, middle)),
    )


def _photo_handle(found: types.Photo, size: str) -> FileHandle:
    location = types.InputPhotoFileLocation(found.id, found.access_hash, found.file_reference, thumb_size=size)
    return handle_of(location, found.dc_id)


def _bytes_of(size: Any) -> int:
    """How many bytes a picture has in one of its sizes; 0 for the tiny ones that come inside the message."""
    if isinstance(size, types.PhotoSize):
        return int(size.size)
    return max(size.sizes, default=0) if isinstance(size, types.PhotoSizeProgressive) else 0


def handle_of(location: Location, centre: int) -> FileHandle:
    return FileHandle(f"{centre}:{base64.urlsafe_b64encode(bytes(location)).decode()}")


def location_of(handle: FileHandle) -> tuple[Location, int]:
    """What a handle stands for, and the data centre that holds it."""
    centre, _, encoded = handle.partition(":")
    try:
        with BinaryReader(base64.urlsafe_b64decode(encoded)) as reader:
            location = reader.tgread_object()
        if isinstance(location, Location):
            return location, int(centre)
    except (ValueError, BufferError, struct.error, TypeNotFoundError) as problem:
        raise _no_handle(handle) from problem
    raise _no_handle(handle)


def is_precise(offset: int, length: int) -> bool:
    """Whether a stretch has to be asked for as one that is off Telegram's coarse grid of 4 KiB and halves of 1 MiB."""
    if offset % KIB or length % KIB or length <= 0 or offset // MIB != (offset + length - 1) // MIB:
        raise CannotAsk(f"Telegram reads no stretch of {length} bytes from {offset}; whole KiB inside a MiB it is.")
    return bool(offset % (4 * KIB) or length % (4 * KIB) or MIB % length)


def _no_handle(handle: FileHandle) -> CannotAsk:
    return CannotAsk(f"{handle[:20]!r} is no handle of a Telegram file; fetch its message again.")
