"""Custom emoji: documents that reactions and formatting name by id, and clients ask for by it."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime

from telethon.tl import types

from tidegate.loopback.telegram.world.content.media_files import register_files
from tidegate.loopback.telegram.world.file_content import File, FileKind
from tidegate.loopback.telegram.world.pictures import photo_sizes
from tidegate.loopback.telegram.world.world import World

_SIDE = 512
_MADE = datetime(2025, 1, 1, tzinfo=UTC)


def lottie(name: str) -> bytes:
    """An empty animation in the platform's packed form, the same for the same name."""
    animation = {"v": "5.5.2", "fr": 60, "ip": 0, "op": 60, "w": _SIDE, "h": _SIDE, "nm": name, "layers": []}
    return gzip.compress(json.dumps(animation).encode(), mtime=0)


def know_emoji(world: World, number: int, alt: str = "🙂") -> File:
    """The file of a custom emoji; it is made when nobody used it before."""
    if number in world.files:
        return world.files[number]
    content = lottie(f"emoji {number}")
    file = world.add_content("AnimatedSticker.tgs", content, id=number, kind=FileKind.STICKER)
    attributes = [
        types.DocumentAttributeImageSize(_SIDE, _SIDE),
        types.DocumentAttributeCustomEmoji(alt, types.InputStickerSetID(world.token("set") & 0x7FFFFFFF, 0)),
        types.DocumentAttributeFilename(file.name),
    ]
    mime, size, date = "application/x-tgsticker", len(content), _MADE
    file.smaller = {"m": photo_sizes(f"emoji {number}")["m"]}
    thumbs = [types.PhotoSize("m", 40, 40, len(file.smaller["m"]))]
    register_files(world, types.Document(number, 0, b"", date, mime, size, file.centre, attributes, thumbs=thumbs))
    return file
