"""The files of a message: those attached to it, and those in its forwards, embeds, components and stickers. Pure.

Discord lists as attachments only what no embed or component shows. A file is read by its address, so its handle is the
address. Only addresses of Discord's own hosts are handles; what lies elsewhere is no file of the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import parse_qs, unquote, urlsplit

from tidegate.core.ids import FileId
from tidegate.platforms.discord.messages.json_values import id_in, number_in, object_in, objects_in, text_in, whole_in
from tidegate.platforms.discord.permissions import Json
from tidegate.platforms.discord.platform import DISCORD
from tidegate.platforms.interface import File, FileForm, FileHandle, FileKind, FileRole, PhotoSize

SPOILER_NAME = "SPOILER_"
_UNKNOWN_TYPE = "application/octet-stream"
_LOOPBACK = "127.0.0.1"
CDN, _MEDIA = "https://cdn.discordapp.com", "https://media.discordapp.net"
_STICKERS = {1: ("png", "image/png"), 2: ("png", "image/png"), 3: ("json", "application/json"), 4: ("gif", "image/gif")}
_PICTURES = ("image", "thumbnail", "video")
_ICONS = ("author", "footer")
_BELOW = ("components", "component", "accessory")
_DEEPEST = 40
_EMOJI = re.compile(r"<(a?):(\w{2,32}):(\d{1,20})>", re.ASCII)


def files_of(found: Json) -> tuple[File, ...]:
    """A message's own attachments."""
    return tuple(_attachments(found))


def further_files_of(found: Json) -> tuple[File, ...]:
    """The files that a message shows in other places, each once."""
    return _once(file for files in further_files_by_role(found).values() for file in files)


def further_files_by_role(found: Json) -> Mapping[FileRole, tuple[File, ...]]:
    """The same by place, for the places that *found* mentions: an update may be a part of a message."""
    own = {file.id for file in files_of(found)}
    numbers = _Numbers(text_in(found.get("channel_id")), frozenset(_listed(found)))
    places = {
        "message_snapshots": (FileRole.FORWARD, _forwarded(found, numbers)),
        "embeds": (FileRole.EMBED, _embedded(found, numbers)),
        "components": (FileRole.COMPONENT, _laid_out(found, numbers)),
        "sticker_items": (FileRole.STICKER, _stickers(found)),
        "content": (FileRole.EMOJI, _emoji(found)),
        "reactions": (FileRole.REACTION, _reactions(found)),
    }
    return {
        role: _once(replace(file, role=role) for file in files if file.id not in own)
        for name, (role, files) in places.items()
        if name in found
    }


def _once(files: Iterable[File]) -> tuple[File, ...]:
    return tuple({file.id: file for file in files}.values())


# Places


def _attachments(found: Json) -> Iterator[File]:
    for one in objects_in(found.get("attachments")):
        number = id_in(one.get("id"))
        if number is not None:
            yield _attachment(one, FileId(number))


def _attachment(one: Json, number: FileId) -> File:
    mime = text_in(one.get("content_type")) or _UNKNOWN_TYPE
    address = own_address(one.get("url"))
    return File(
        id=number,
        name=text_in(one.get("filename")),
        size=whole_in(one.get("size")),
        mime=mime,
        kind=_kind(mime),
        handle=FileHandle(address),
        picture=_still(one, mime),
        form=form_of(one),
        valid_until=expiry_of(address),
    )


def _still(one: Json, mime: str) -> PhotoSize | None:
    """The small picture that Discord's media proxy makes of a picture or a video."""
    address = own_address(one.get("proxy_url"))
    if not address or mime.partition("/")[0] not in ("image", "video") or not one.get("width"):
        return None
    mark = "&" if "?" in address else "?"
    return PhotoSize(0, FileHandle(f"{address}{mark}format=webp&width=320&height=320"))


def _forwarded(found: Json, numbers: _Numbers) -> Iterator[File]:
    for inner in _snapshots(found):
        yield from _attachments(inner)
        yield from _embedded(inner, numbers)
        yield from _laid_out(inner, numbers)
        yield from _stickers(inner)


def _snapshots(found: Json) -> list[Json]:
    return [object_in(one.get("message")) for one in objects_in(found.get("message_snapshots"))]


def _embedded(found: Json, numbers: _Numbers) -> Iterator[File]:
    for embed in objects_in(found.get("embeds")):
        for name in _PICTURES:
            yield from _shown(object_in(embed.get(name)), numbers)
        for name in _ICONS:
            part = object_in(embed.get(name))
            yield from _shown({"url": part.get("icon_url"), "proxy_url": part.get("proxy_icon_url")}, numbers)


def _laid_out(found: Json, numbers: _Numbers) -> Iterator[File]:
    waiting = [(one, 0) for one in objects_in(found.get("components"))[::-1]]
    while waiting:
        one, depth = waiting.pop()
        for held in (one, *objects_in(one.get("items"))):
            for name in ("media", "file"):
                yield from _shown(object_in(held.get(name)), numbers, held)
        if depth < _DEEPEST:
            below = [inner for name in _BELOW for inner in _objects(one.get(name))]
            waiting += [(inner, depth + 1) for inner in below[::-1]]


def _stickers(found: Json) -> Iterator[File]:
    for one in objects_in(found.get("sticker_items")):
        number, form = id_in(one.get("id")), number_in(one.get("format_type"))
        if number is None or form not in _STICKERS:
            continue
        ending, mime = _STICKERS[form]
        handle = FileHandle(f"{_MEDIA if ending == 'gif' else CDN}/stickers/{number}.{ending}")
        name = text_in(one.get("name"))
        yield File(FileId(number), name, 0, mime, FileKind.MEDIA, handle, form=FileForm.STICKER)


def _emoji(found: Json) -> Iterator[File]:
    """A guild's own emoji in a text. Its writer chose the number, so it is never that of an attachment."""
    for mark, name, written in _EMOJI.findall(text_in(found.get("content"))):
        number = id_in(written)
        if number is not None:
            yield _emoji_file(number, name, animated=bool(mark))


def _reactions(found: Json) -> Iterator[File]:
    for one in objects_in(found.get("reactions")):
        file = reaction_file(object_in(one.get("emoji")))
        if file is not None:
            yield file


def reaction_file(emoji: Json) -> File | None:
    """The picture of a guild's own emoji of a reaction; None for any other emoji."""
    number = id_in(emoji.get("id"))
    if number is None:
        return None
    file = _emoji_file(number, text_in(emoji.get("name")), animated=emoji.get("animated") is True)
    return replace(file, role=FileRole.REACTION)


def _emoji_file(number: int, name: str, *, animated: bool) -> File:
    handle = FileHandle(f"{CDN}/emojis/{number}.webp" + ("?animated=true" if animated else ""))
    derived = FileId(derived_number(f"emoji/{number}"))
    return File(derived, f"{name}:{number}", 0, "image/webp", FileKind.MEDIA, handle, form=FileForm.STICKER)


def _shown(media: Json, numbers: _Numbers, held: Json | None = None) -> Iterator[File]:
    """A picture or file with an address: Discord's own, or its copy of one that lies elsewhere."""
    address = own_address(media.get("url")) or own_address(media.get("proxy_url"))
    if not address:
        return
    number = id_in(media.get("attachment_id")) or numbers.of(address)
    mime = text_in(media.get("content_type")) or _UNKNOWN_TYPE
    known = {"content_type": mime} if mime != _UNKNOWN_TYPE else {"content_type": "image/"}
    yield File(
        id=FileId(number),
        name=text_in((held or {}).get("name")) or unquote(urlsplit(address).path.rpartition("/")[2]),
        size=whole_in((held or {}).get("size")) or whole_in(media.get("size")),
        mime=mime,
        kind=_kind(known["content_type"]),
        handle=FileHandle(address),
        form=form_of(known),
        valid_until=expiry_of(address),
    )


# Addresses


def own_address(value: object) -> str:
    """An address of one of Discord's own hosts, or of a loopback Discord; empty for any other."""
    address = text_in(value)
    try:
        parts = urlsplit(address)
        own = parts.scheme == "https" and parts.netloc in DISCORD.file_hosts
        loopback = parts.scheme == "http" and parts.hostname == _LOOPBACK and "@" not in parts.netloc
    except ValueError:
        return ""
    return address if own or loopback else ""


def expiry_of(address: str) -> datetime | None:
    """When a signed address ends; None for one that does not."""
    try:
        [written] = parse_qs(urlsplit(address).query)["ex"]
        return datetime.fromtimestamp(int(written, 16), UTC)
    except (KeyError, ValueError, OverflowError, OSError):
        return None


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Numbers of files that a message shows by an address, which a bot writes freely.

    So an attachment's number counts only where Discord *listed* it with the message. Any other is derived, and so
    negative; with the *channel*, because who may read that channel may read the file.
    """

    channel: str
    listed: frozenset[int]

    def of(self, address: str) -> int:
        parts = urlsplit(address)
        steps = parts.path.split("/")
        if len(steps) == 5 and steps[1] == "attachments" and (number := id_in(steps[3])) in self.listed:
            return number
        return derived_number(f"{self.channel}/{parts.netloc}{parts.path}")


def _listed(found: Json) -> Iterator[int]:
    """The numbers of the attachments of a message and of what it forwards."""
    for one in (found, *_snapshots(found)):
        yield from (file.id for file in _attachments(one))


def derived_number(text: str) -> int:
    """The number of a file that has none of its own: negative, so that it is never that of an attachment."""
    return -1 - (int.from_bytes(sha256(text.encode()).digest()[:8], "big") >> 1)


def _objects(value: object) -> list[Json]:
    return [value] if isinstance(value, dict) else objects_in(value)


# Kinds


def form_of(attachment: Json) -> FileForm:
    """What an attachment is to its reader; only voice messages have a waveform."""
    mime = text_in(attachment.get("content_type"))
    family = mime.partition("/")[0]
    if family == "audio":
        return FileForm.VOICE if attachment.get("waveform") else FileForm.AUDIO
    if family == "image":
        return FileForm.ANIMATION if mime == "image/gif" else FileForm.IMAGE
    return FileForm.VIDEO if family == "video" else FileForm.FILE


def _kind(mime: str) -> FileKind:
    family = mime.partition("/")[0]
    if family == "image":
        return FileKind.PHOTO
    return FileKind.MEDIA if family in ("video", "audio") else FileKind.DOCUMENT
