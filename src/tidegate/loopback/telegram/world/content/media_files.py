"""Files of documents and photos inside the schema's objects: registered, so that their bytes can be read."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from telethon.tl import types

from tidegate.loopback.telegram.tl_objects.tl_schema import inside
from tidegate.loopback.telegram.world.file_content import AWAY, HOME, File, FileKind
from tidegate.loopback.telegram.world.world import World


def held_files(value: Any) -> Iterator[types.Document | types.Photo]:
    """Every document and photo within a value."""
    return (one for one in inside(value) if isinstance(one, types.Document | types.Photo))


def web_documents(value: Any) -> Iterator[types.WebDocument]:
    """Every picture on another site within a value, of which the platform has a copy."""
    return (one for one in inside(value) if isinstance(one, types.WebDocument))


def web_number(address: str) -> int:
    """The number of the file that is the copy of what another site has; such a picture has none of its own."""
    return -1 - (int.from_bytes(sha256(address.encode()).digest()[:8], "big") >> 1)


def register_files(world: World, value: Any, given: list[File] | None = None) -> None:
    """Give every document and photo in *value* a file with bytes: the next of *given*, a known one, or computed ones.

    Their ids, sizes and data centres are set accordingly.
    """
    waiting = list(given or [])
    for one in held_files(value):
        one.dc_id = one.dc_id if one.dc_id in (HOME, AWAY) else HOME
        if waiting:
            _take_bytes(one, waiting.pop(0))
        one.id = one.id or world.free_file_id()
        file = world.files.get(one.id) or world.add_file("", _size(one), id=one.id)
        _describe(file, one)
    for web in web_documents(value):
        number = web_number(web.url)
        if number not in world.files:
            world.add_file("", max(0, web.size), id=number, mime=web.mime_type)


def file_kind(document: types.Document) -> FileKind:
    """How a client shows a document."""
    kinds = [_ATTRIBUTES[type(one)](one) for one in document.attributes if type(one) in _ATTRIBUTES]
    return min(kinds, key=_FIRST.index, default=FileKind.DOCUMENT)


_FIRST = [FileKind.STICKER, FileKind.ANIMATION, FileKind.ROUND, FileKind.VIDEO, FileKind.VOICE, FileKind.AUDIO]
_ATTRIBUTES: dict[type, Any] = {
    types.DocumentAttributeSticker: lambda _: FileKind.STICKER,
    types.DocumentAttributeCustomEmoji: lambda _: FileKind.STICKER,
    types.DocumentAttributeAnimated: lambda _: FileKind.ANIMATION,
    types.DocumentAttributeVideo: lambda held: FileKind.ROUND if held.round_message else FileKind.VIDEO,
    types.DocumentAttributeAudio: lambda held: FileKind.VOICE if held.voice else FileKind.AUDIO,
}


def _take_bytes(one: types.Document | types.Photo, file: File) -> None:
    one.id, one.dc_id = file.id, file.centre
    if isinstance(one, types.Document):
        one.size = file.size


def _describe(file: File, one: types.Document | types.Photo) -> None:
    file.centre = one.dc_id
    if isinstance(one, types.Photo):
        file.kind, file.mime = FileKind.PHOTO, file.mime if file.pieces else "image/jpeg"
    else:
        file.kind, file.mime = file_kind(one), one.mime_type
        names = [held.file_name for held in one.attributes if isinstance(held, types.DocumentAttributeFilename)]
        file.name = names[0] if names else file.name
        if any(isinstance(held, types.DocumentAttributeCustomEmoji) for held in one.attributes):
            file.document = one
    file.previews = {letter: size for letter, size in _sizes(one).items() if letter not in file.smaller}


def _size(one: types.Document | types.Photo) -> int:
    return max(0, one.size) if isinstance(one, types.Document) else max(_sizes(one).values(), default=0)


def _sizes(one: types.Document | types.Photo) -> dict[str, int]:
    """The sizes of previews by their letters; those whose bytes are in the message have no file."""
    listed = one.sizes + (one.video_sizes or []) if isinstance(one, types.Photo) else one.thumbs or []
    if isinstance(one, types.Document):
        listed = listed + (one.video_thumbs or [])
    found: dict[str, int] = {}
    for size in listed:
        if isinstance(size, types.PhotoSize | types.VideoSize):
            found[size.type] = max(0, size.size)
        elif isinstance(size, types.PhotoSizeProgressive):
            found[size.type] = max(0, *size.sizes) if size.sizes else 0
    return found
