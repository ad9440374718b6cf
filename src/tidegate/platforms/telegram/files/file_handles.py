"""Files of messages, and the handles they are read by.

A handle is Telegram's own file location with the data centre that holds it. Its reference belongs to one account and
expires; so a stored handle is stored with the message it came from.
"""

from __future__ import annotations

import base64
import struct
from dataclasses import replace
from typing import Any, TypeAlias

from telethon.errors import TypeNotFoundError
from telethon.extensions import BinaryReader
from telethon.tl import types

from tidegate.core.ids import FileId
from tidegate.core.message_content import MessageKind
from tidegate.platforms.interface import CannotAsk, File, FileForm, FileHandle, FileKind, PhotoSize
from tidegate.platforms.telegram.content.media_details import document_kind

Location: TypeAlias = types.InputDocumentFileLocation | types.InputPhotoFileLocation | types.InputWebFileLocation

_WEB = "web:"

KIB, MIB = 1 << 10, 1 << 20

_SHOWN_AS_MEDIA = (
    types.DocumentAttributeVideo,
    types.DocumentAttributeAudio,
    types.DocumentAttributeAnimated,
    types.DocumentAttributeSticker,
)


def files_of(media: Any) -> tuple[File, ...]:
    """The files of a message that still exist. Only paid media has several, and none before it is bought."""
    if media is None:
        return ()
    if isinstance(media, types.MessageMediaPaidMedia):
        shown = (getattr(one, "media", None) for one in media.extended_media)
        return tuple(file for one in shown if (file := _file(one)) is not None)
    file = _file(media)
    return () if file is None else (file,)


def _file(media: Any) -> File | None:
    if isinstance(media, types.MessageMediaDocument) and isinstance(media.document, types.Document):
        return replace(document_file(media.document), fleeting=bool(media.ttl_seconds))
    if isinstance(media, types.MessageMediaPhoto) and isinstance(media.photo, types.Photo):
        photo = photo_file(media.photo)
        return None if photo is None else replace(photo, fleeting=bool(media.ttl_seconds))
    return None


def document_file(found: types.Document) -> File:
    """A document, with the largest of Telegram's small pictures of it."""
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
        picture=_thumbnail(found),
        form=_form(found),
    )


def _thumbnail(found: types.Document) -> PhotoSize | None:
    sizes = {one.type: _bytes_of(one) for one in found.thumbs or () if _bytes_of(one)}
    if not sizes:
        return None
    largest = max(sizes, key=lambda kind: sizes[kind])
    location = types.InputDocumentFileLocation(found.id, found.access_hash, found.file_reference, thumb_size=largest)
    return PhotoSize(sizes[largest], handle_of(location, found.dc_id))


def _form(found: types.Document) -> FileForm:
    """A picture that was sent as a file is a picture to its reader, though its message is not a photo."""
    kind = document_kind(found)
    if kind is MessageKind.FILE:
        is_picture = any(isinstance(one, types.DocumentAttributeImageSize) for one in found.attributes)
        return FileForm.IMAGE if is_picture and found.mime_type.startswith("image/") else FileForm.FILE
    return FileForm(kind.value)


def photo_file(found: types.Photo) -> File | None:
    """A photo in its largest size; None for one without bytes of its own."""
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
        picture=PhotoSize(sizes[middle], _photo_handle(found, middle)),
        form=FileForm.IMAGE,
    )


def _photo_handle(found: types.Photo, size: str) -> FileHandle:
    location = types.InputPhotoFileLocation(found.id, found.access_hash, found.file_reference, thumb_size=size)
    return handle_of(location, found.dc_id)


def _bytes_of(size: Any) -> int:
    """The size of a picture in bytes, for one of its sizes; 0 for the tiny ones that are inside the message."""
    if isinstance(size, types.PhotoSize):
        return int(size.size)
    return max(size.sizes, default=0) if isinstance(size, types.PhotoSizeProgressive) else 0


def handle_of(location: Location, centre: int) -> FileHandle:
    """The handle of a file. That of a picture on another site names no data centre: one is there for all of them."""
    where = _WEB if isinstance(location, types.InputWebFileLocation) else f"{centre}:"
    return FileHandle(f"{where}{base64.urlsafe_b64encode(bytes(location)).decode()}")


def is_web_file(handle: FileHandle) -> bool:
    """Whether it is a picture on another site, of which Telegram has a copy."""
    return handle.startswith(_WEB)


def location_of(handle: FileHandle) -> tuple[Location, int]:
    """The file location in a handle, and the data centre that holds it; 0 for a picture on another site."""
    centre, _, encoded = handle.partition(":")
    try:
        with BinaryReader(base64.urlsafe_b64decode(encoded)) as reader:
            location = reader.tgread_object()
        if isinstance(location, Location):
            return location, 0 if is_web_file(handle) else int(centre)
    except (ValueError, BufferError, struct.error, TypeNotFoundError) as problem:
        raise _no_handle(handle) from problem
    raise _no_handle(handle)


def is_precise(offset: int, length: int) -> bool:
    """Whether a range needs a precise request, because it is off 4 KiB bounds or its length does not divide 1 MiB."""
    if offset % KIB or length % KIB or length <= 0 or offset // MIB != (offset + length - 1) // MIB:
        raise CannotAsk(f"Telegram reads no stretch of {length} bytes from {offset}; whole KiB inside a MiB it is.")
    return bool(offset % (4 * KIB) or length % (4 * KIB) or MIB % length)


def _no_handle(handle: FileHandle) -> CannotAsk:
    return CannotAsk(f"{handle[:20]!r} is no handle of a Telegram file; fetch its message again.")
