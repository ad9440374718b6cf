"""Requests that post a message or a file, and the receipt in Telegram's answer. Pure."""

from __future__ import annotations

import struct
from hashlib import sha256
from typing import Any, TypeAlias

from telethon.errors import TypeNotFoundError
from telethon.extensions import BinaryReader
from telethon.tl import functions, types

from tidegate.core.errors import Refused
from tidegate.core.ids import MessageId
from tidegate.platforms.interface import FileHandle, Receipt, SendKey, Upload, UploadLost
from tidegate.platforms.interface.uploads import Media, MediaKind, MediaRef
from tidegate.platforms.telegram.files.file_handles import location_of

Postable: TypeAlias = types.InputMediaPhoto | types.InputMediaDocument

_PHOTO_TYPES = ("image/jpeg", "image/png", "image/webp")
_LARGEST_PHOTO = 10 * 1024 * 1024
"""Telegram shows other types and larger pictures as documents."""


def random_id(key: SendKey) -> int:
    """The number by which Telegram recognises a repeated send: derived from our key, and never 0."""
    return int.from_bytes(sha256(key.encode()).digest()[:8], "little", signed=True) or 1


def part_of(upload: Upload, part: int, content: bytes) -> Any:
    """The request that uploads one part of a file."""
    if upload.big:
        return functions.upload.SaveBigFilePartRequest(upload.id, part, upload.parts, content)
    return functions.upload.SaveFilePartRequest(upload.id, part, content)


def uploaded(upload: Upload) -> types.InputMediaUploadedDocument:
    """An uploaded file, to be shown as a document under its own name."""
    name = types.DocumentAttributeFilename(upload.name)
    return types.InputMediaUploadedDocument(_saved(upload), upload.mime, [name], force_file=True)


def to_keep(upload: Upload, media: Media) -> types.InputMediaUploadedPhoto | types.InputMediaUploadedDocument:
    """An uploaded file, to be kept and posted later as what it is: photo, video or document."""
    if media.kind is MediaKind.PICTURE and media.mime in _PHOTO_TYPES and media.size <= _LARGEST_PHOTO:
        return types.InputMediaUploadedPhoto(_saved(upload))
    attributes: list[Any] = [types.DocumentAttributeFilename(media.name)]
    if media.kind is MediaKind.VIDEO:  # Telegram itself determines the duration and the picture size
        attributes.append(types.DocumentAttributeVideo(duration=0, w=0, h=0, supports_streaming=True))
    plain = media.kind is MediaKind.DOCUMENT
    return types.InputMediaUploadedDocument(_saved(upload), media.mime, attributes, force_file=plain or None)


def _saved(upload: Upload) -> types.InputFile | types.InputFileBig:
    if upload.big:
        return types.InputFileBig(upload.id, upload.parts, upload.name)
    return types.InputFile(upload.id, upload.parts, upload.name, md5_checksum="")


def kept(answer: Any) -> MediaRef:
    """The reference to a file that Telegram keeps; it belongs to this account, and Telegram may end it at any time."""
    if isinstance(answer, types.MessageMediaPhoto) and isinstance(answer.photo, types.Photo):
        photo = answer.photo
        named = types.InputPhoto(photo.id, photo.access_hash, photo.file_reference)
        return MediaRef(bytes(types.InputMediaPhoto(named)))
    if isinstance(answer, types.MessageMediaDocument) and isinstance(answer.document, types.Document):
        document = answer.document
        known = types.InputDocument(document.id, document.access_hash, document.file_reference)
        return MediaRef(bytes(types.InputMediaDocument(known)))
    raise Refused("Telegram took the file and did not say what it is posted by.")


def postable(ref: MediaRef) -> Postable:
    """The kept file behind *ref*."""
    try:
        with BinaryReader(ref) as reader:
            found = reader.tgread_object()
    except (ValueError, BufferError, struct.error, TypeNotFoundError) as problem:
        raise _unreadable() from problem
    if isinstance(found, Postable):
        return found
    raise _unreadable()


def _unreadable() -> UploadLost:
    return UploadLost("What was stored of this upload is no reference to a Telegram file; it has to be uploaded anew.")


def copied(handle: FileHandle) -> types.InputMediaDocument | types.InputMediaPhoto:
    """A file Telegram already has."""
    location, _ = location_of(handle)
    if isinstance(location, types.InputPhotoFileLocation):
        return types.InputMediaPhoto(types.InputPhoto(location.id, location.access_hash, location.file_reference))
    return types.InputMediaDocument(types.InputDocument(location.id, location.access_hash, location.file_reference))


def receipt_of(answer: Any, number: int) -> Receipt:
    """The message that a send became, found by the random id of the send."""
    if isinstance(answer, types.UpdateShortSentMessage):
        return Receipt(MessageId(answer.id), answer.date)
    for update in getattr(answer, "updates", ()):
        if isinstance(update, types.UpdateMessageID) and update.random_id == number:
            return Receipt(MessageId(update.id), answer.date)
    raise Refused("Telegram accepted the message and did not say under which number.")
