"""The files that a message shows in other places than its own: previews, polls, games, stories, announcements. Pure.

Telegram's schema has more than twenty such places, and gets new ones. So every object of the message is looked at; what
it is in decides the role of the file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any

from telethon.tl import TLObject, types

from tidegate.core.ids import FileId
from tidegate.platforms.interface import File, FileForm, FileHandle, FileKind, FileRole
from tidegate.platforms.telegram.files.file_handles import document_file, handle_of, photo_file

_PLACES = ("media", "reply_to", "rich_message", "action")
"""The fields of a message that can hold a file."""

_DEEPEST = 40

_ROLES: dict[type, FileRole] = {
    types.MessageMediaWebPage: FileRole.PREVIEW,
    types.MessageMediaGame: FileRole.GAME,
    types.MessageMediaInvoice: FileRole.INVOICE,
    types.MessageMediaPoll: FileRole.POLL,
    types.MessageMediaStory: FileRole.STORY,
    types.MessageMediaPhoto: FileRole.COVER,
    types.MessageMediaDocument: FileRole.COVER,
}
_ROLE_OF_PLACE = {"reply_to": FileRole.REPLY, "rich_message": FileRole.RICH, "action": FileRole.SERVICE}
_NEVER = frozenset({"cached_page"})  # Telegram's copy of a linked page is not part of the message


def further_files_of(found: Any, own: Collection[File]) -> tuple[File, ...]:
    """The files of a message that are not among its *own*, each once."""
    files: dict[FileId, File] = {}
    known = {file.id for file in own}
    for place in _PLACES:
        value = getattr(found, place, None)
        if value is None or (place == "reply_to" and getattr(value, "reply_media", None) is None):
            continue
        role = _ROLE_OF_PLACE.get(place) or _ROLES.get(type(value), FileRole.COVER)
        for one in _held(value, 0):
            file = _file(one)
            if file is not None and file.id not in known:
                files.setdefault(file.id, replace(file, role=role, fleeting=_is_fleeting(value)))
    for emoji in (*_emoji_of(found), *reaction_files(getattr(found, "reactions", None))):
        files.setdefault(emoji.id, emoji)
    return tuple(files.values())


def _emoji_of(found: Any) -> Iterator[File]:
    for one in getattr(found, "entities", None) or ():
        if isinstance(one, types.MessageEntityCustomEmoji) and one.document_id > 0:
            yield _emoji(one.document_id, FileRole.EMOJI)


def reaction_files(found: Any) -> tuple[File, ...]:
    """The custom emoji among reactions."""
    shown = (one.reaction for one in getattr(found, "results", None) or ())
    custom = (one.document_id for one in shown if isinstance(one, types.ReactionCustomEmoji))
    return tuple(_emoji(number, FileRole.REACTION) for number in custom if number > 0)


def _emoji(number: int, role: FileRole) -> File:
    """A custom emoji by its number, which is all that a message says; what reads it has to be asked for."""
    return File(
        id=emoji_number(number),
        name=f"custom:{number}",
        size=0,
        mime="application/x-tgsticker",
        kind=FileKind.MEDIA,
        handle=FileHandle(""),
        form=FileForm.STICKER,
        role=role,
    )


def emoji_number(number: int) -> FileId:
    """The number of the file of a custom emoji by that of its document, and the reverse.

    A sender writes the number of an emoji. So it is negative, and never names a document of another channel.
    """
    return FileId(-1 - number)


def _is_fleeting(media: Any) -> bool:
    return bool(getattr(media, "ttl_seconds", None))


def _held(value: Any, depth: int) -> Iterator[Any]:
    """Every document and picture within a value, in its order."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from _held(one, depth + 1)
    elif isinstance(value, types.Document | types.Photo | types.WebDocument):
        yield value
    elif isinstance(value, TLObject) and depth < _DEEPEST:
        for name, one in vars(value).items():
            if name not in _NEVER and isinstance(one, TLObject | list):
                yield from _held(one, depth + 1)


def _file(found: Any) -> File | None:
    if isinstance(found, types.Document):
        return document_file(found)
    if isinstance(found, types.Photo):
        return photo_file(found)
    return _web_file(found)


def _web_file(found: types.WebDocument) -> File:
    """A picture on another site, of which Telegram has a copy. It has an address and no number."""
    number = -1 - (int.from_bytes(sha256(found.url.encode()).digest()[:8], "big") >> 1)
    return File(
        id=FileId(number),
        name="",
        size=found.size,
        mime=found.mime_type,
        kind=FileKind.PHOTO,
        handle=handle_of(types.InputWebFileLocation(found.url, found.access_hash), 0),
        form=FileForm.IMAGE,
    )
