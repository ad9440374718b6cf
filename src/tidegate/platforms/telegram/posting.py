"""What is posted, in Telegram's words, and its answer in ours. Pure."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from telethon.tl import functions, types

from tidegate.errors import Refused
from tidegate.platforms.telegram.handles import location_of
from tidegate.port import GENERAL, FileHandle, MessageId, Receipt, SendKey, TopicId, Upload


def random_id(key: SendKey) -> int:
    """The number Telegram recognises a repeated send by, made of our key: the same for the same, and never 0."""
    return int.from_bytes(sha256(key.encode()).digest()[:8], "little", signed=True) or 1


def into(topic: TopicId | None) -> types.InputReplyToMessage | None:
    """How a message gets into a topic: as a reply to its root. General has none."""
    if topic is None or topic == GENERAL:
        return None
    return types.InputReplyToMessage(reply_to_msg_id=topic)


def part_of(upload: Upload, part: int, content: bytes) -> Any:
    """The request that hands over one part of a file."""
    if upload.big:
        return functions.upload.SaveBigFilePartRequest(upload.id, part, upload.parts, content)
    return functions.upload.SaveFilePartRequest(upload.id, part, content)


def uploaded(upload: Upload) -> types.InputMediaUploadedDocument:
    """A file whose parts are handed over, to be shown as a document under its own name."""
    file = (
        types.InputFileBig(upload.id, upload.parts, upload.name)
        if upload.big
        else types.InputFile(upload.id, upload.parts, upload.name, md5_checksum="")
    )
    name = types.DocumentAttributeFilename(upload.name)
    return types.InputMediaUploadedDocument(file, upload.mime, [name], force_file=True)


def copied(handle: FileHandle) -> types.InputMediaDocument | types.InputMediaPhoto:
    """A file Telegram already has."""
    location, _ = location_of(handle)
    if isinstance(location, types.InputPhotoFileLocation):
        return types.InputMediaPhoto(types.InputPhoto(location.id, location.access_hash, location.file_reference))
    return types.InputMediaDocument(types.InputDocument(location.id, location.access_hash, location.file_reference))


def receipt_of(answer: Any, number: int) -> Receipt:
    """The message a send became, by the number it was sent under."""
    if isinstance(answer, types.UpdateShortSentMessage):
        return Receipt(MessageId(answer.id), answer.date)
    for update in getattr(answer, "updates", ()):
        if isinstance(update, types.UpdateMessageID) and update.random_id == number:
            return Receipt(MessageId(update.id), answer.date)
    raise Refused("Telegram accepted the message and did not say under which number.")
