"""Discord's messages and channels in our words. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from discord import MessageType
from discord.enums import try_enum

from tidegate.platforms.discord.rights import Json, Rights
from tidegate.port import (
    Channel,
    ChannelId,
    ChannelKind,
    File,
    FileHandle,
    FileId,
    FileKind,
    GuildId,
    Head,
    Me,
    Message,
    MessageId,
    Reaction,
)

THREADS = (10, 11, 12)
_PRIVATE_THREAD = 12
_HAS_THREAD = 1 << 5
_REPLY, _THREAD_CREATED = 19, 18
_WRITTEN = (0, _REPLY, 20, 23)  # by somebody, or by a bot that somebody asked
_FORWARD = 1

_KINDS = {
    0: ChannelKind.CHANNEL,
    1: ChannelKind.PRIVATE_CHAT,
    2: ChannelKind.VOICE,
    3: ChannelKind.PRIVATE_CHAT,
    5: ChannelKind.ANNOUNCEMENT,
    10: ChannelKind.THREAD,
    11: ChannelKind.THREAD,
    12: ChannelKind.THREAD,
    13: ChannelKind.VOICE,
    15: ChannelKind.BOARD,
    16: ChannelKind.BOARD,
}
_SILENT = (4, 14)  # a category and a directory hold no messages
_LARGEST_FILE = {0: 10 << 20, 1: 10 << 20, 2: 50 << 20, 3: 100 << 20}  # by premium tier

_TOLD_ELSEWHERE = frozenset({
    # what a message's own fields say
    "id", "channel_id", "content", "timestamp", "edited_timestamp", "reactions", "attachments",
    # what depends on who asks and when, and would make the same message look changed
    "guild_id", "author", "member", "mentions", "referenced_message", "nonce", "thread", "position",
})  # fmt: skip
_SIGNED = ("https://cdn.discordapp.com/", "https://media.discordapp.net/")


# Messages


def message_of(found: Json) -> Message:
    """One message in our words, every type of it: what is left out here would look like a gap."""
    number = int(found["id"])
    author = found.get("author") or {}
    kind = int(found.get("type", 0))
    return Message(
        id=MessageId(number),
        at=instant(found["timestamp"]),
        author=name_of(author),
        text=found.get("content") or "",
        edited_at=edited_at(found),
        reply_to=_reply(found) if kind == _REPLY else None,
        files=files_of(found),
        author_id=int(author["id"]) if "id" in author else None,
        automatic=bool(author.get("bot") or found.get("webhook_id")),
        service="" if kind in _WRITTEN else try_enum(MessageType, kind).name,
        thread=_thread(found, kind),
        reactions=reactions_of(found),
        extra=extra_of(found),
    )


def name_of(user: Json) -> str:
    """A person's name; not the nickname, which only some of Discord's answers know."""
    return str(user.get("global_name") or user.get("username") or "")


def edited_at(found: Json) -> datetime | None:
    edited = found.get("edited_timestamp")
    return instant(edited) if edited else None


def files_of(found: Json) -> tuple[File, ...]:
    """A message's attachments. Their addresses expire, so a handle says where the file hangs and not where it lies."""
    place = f"{found.get('channel_id', '')}/{found['id']}"
    return tuple(
        File(
            id=FileId(int(one["id"])),
            name=one.get("filename") or "",
            size=int(one.get("size") or 0),
            mime=one.get("content_type") or "application/octet-stream",
            kind=_file_kind(one.get("content_type") or ""),
            handle=FileHandle(f"{place}/{one['id']}"),
        )
        for one in found.get("attachments") or ()
    )


def reactions_of(found: Json) -> tuple[Reaction, ...]:
    return tuple(Reaction(emoji_of(one["emoji"]), int(one["count"])) for one in found.get("reactions") or ())


def emoji_of(found: Json) -> str:
    """A sign as people see it, or the name and number of one that a guild made itself."""
    return f"{found.get('name') or ''}:{found['id']}" if found.get("id") else str(found.get("name") or "")


def extra_of(found: Json) -> str:
    """All that has no field of its own, as JSON with sorted keys, so that equal messages have equal texts."""
    extra = {key: value for key, value in _beyond_fields(found).items() if value is not None}
    return _as_text(extra) if extra else ""


def changes_of(found: Json) -> str:
    """What a part of a message says beyond its fields, to be laid over what is stored; null where it became empty."""
    return _as_text(_beyond_fields(found))


def _beyond_fields(found: Json) -> dict[str, Any]:
    extra = {key: _kept(value) if _says(value) else None for key, value in found.items() if key not in _TOLD_ELSEWHERE}
    if "attachments" in found:
        extra["attachments"] = [more for one in found["attachments"] if (more := _attachment(one))] or None
    if "mentions" in found:
        extra["mentions"] = [{"id": one["id"], "name": name_of(one)} for one in found["mentions"]] or None
    return extra


def _as_text(extra: Json) -> str:
    return json.dumps(extra, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _says(value: Any) -> bool:
    """Whether a value is more than Discord's way of saying nothing."""
    return value not in (None, False, "", [], {}) and not (value == 0 and value is not True)


def _kept(value: Any) -> Any:
    """The same without the signatures of addresses, which differ with every answer."""
    if isinstance(value, str):
        return value.partition("?")[0] if value.startswith(_SIGNED) else value
    if isinstance(value, Mapping):
        return {key: _kept(one) for key, one in value.items()}
    return [_kept(one) for one in value] if isinstance(value, list) else value


_OF_FILES = ("id", "filename", "size", "content_type", "url", "proxy_url")


def _attachment(found: Json) -> dict[str, Any]:
    """What an attachment says beyond its file, such as a description or how long a voice message is."""
    more = {key: _kept(value) for key, value in found.items() if key not in _OF_FILES and _says(value)}
    return {"id": found["id"], **more} if more else {}


def _reply(found: Json) -> MessageId | None:
    reference = found.get("message_reference") or {}
    elsewhere = reference.get("channel_id", found.get("channel_id")) != found.get("channel_id")
    if elsewhere or reference.get("type") == _FORWARD or not reference.get("message_id"):
        return None
    return MessageId(int(reference["message_id"]))


def _thread(found: Json, kind: int) -> ChannelId | None:
    """The thread under a message has the message's own number; one that was made apart is named by the announcement."""
    reference = found.get("message_reference") or {}
    if kind == _THREAD_CREATED and reference.get("channel_id"):
        return ChannelId(int(reference["channel_id"]))
    return ChannelId(int(found["id"])) if int(found.get("flags") or 0) & _HAS_THREAD else None


def _file_kind(mime: str) -> FileKind:
    family = mime.partition("/")[0]
    if family == "image":
        return FileKind.PHOTO
    return FileKind.MEDIA if family in ("video", "audio") else FileKind.DOCUMENT


# Channels


def holds_messages(found: Json) -> bool:
    """Whether a channel has messages or threads; one of a kind we do not know has, when it names its newest."""
    kind = int(found["type"])
    return kind in _KINDS or (kind not in _SILENT and "last_message_id" in found)


def channel_of(found: Json, rights: Rights, *, guild: str | None = None, largest_file: int | None = None) -> Channel:
    kind = int(found["type"])
    place = guild or found.get("guild_id")
    return Channel(
        id=ChannelId(int(found["id"])),
        title=found.get("name") or _chat_title(found),
        may_post=rights.may_post,
        kind=_KINDS.get(kind, ChannelKind.CHANNEL),
        guild=GuildId(int(place)) if place else None,
        parent=ChannelId(int(found["parent_id"])) if kind in THREADS and found.get("parent_id") else None,
        visible=rights.visible,
        readable=rights.readable,
        archived=bool((found.get("thread_metadata") or {}).get("archived")),
        private=kind == _PRIVATE_THREAD,
        largest_file=largest_file,
    )


def largest_file_in(guild: Json) -> int | None:
    """How many bytes a file may have in a guild, by how far it is boosted; None for a tier that is new to us."""
    return _LARGEST_FILE.get(guild.get("premium_tier", -1))


def head_of(found: Json, channel: Channel) -> Head:
    """Where a channel stands; its newest message may be deleted by now."""
    newest = found.get("last_message_id")
    return Head(
        newest=MessageId(int(newest)) if newest else None,
        changes=None,
        channel=channel,
        messages=found.get("message_count"),
        posted=found.get("total_message_sent"),
    )


def _chat_title(found: Json) -> str:
    return ", ".join(name_of(one) for one in found.get("recipients") or ())


# Others


def me_of(found: Json) -> Me:
    return Me(id=int(found["id"]), name=name_of(found))


def instant(text: str) -> datetime:
    """An instant as Discord writes it; in UTC, whatever zone it was written in."""
    return datetime.fromisoformat(text).astimezone(UTC)


def messages_of(page: Iterable[Json]) -> list[Message]:
    """A page's messages, newest first by number: those of one millisecond have come in swapped order."""
    return sorted((message_of(one) for one in page), key=lambda one: one.id, reverse=True)
