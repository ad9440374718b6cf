"""Discord's messages and channels as our values. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from discord import MessageType
from discord.enums import try_enum

from tidegate.core.ids import ChannelId, GuildId, MessageId, UserId
from tidegate.platforms.discord.messages.authors import is_automatic, name_of, person_of
from tidegate.platforms.discord.messages.content import content_of
from tidegate.platforms.discord.messages.emoji import emoji_of
from tidegate.platforms.discord.messages.files import files_of, further_files_of
from tidegate.platforms.discord.messages.json_values import (
    id_in,
    instant_in,
    made_at,
    object_in,
    objects_in,
    text_in,
    whole_in,
)
from tidegate.platforms.discord.messages.polls import counts_of
from tidegate.platforms.discord.messages.raw_fields import WRITTEN, NameOf, no_names, raw_of
from tidegate.platforms.discord.permissions import ChannelPermissions, Json
from tidegate.platforms.interface import Channel, ChannelKind, Head, Me, Message, Reaction

THREADS = (10, 11, 12)
_PRIVATE_THREAD = 12
_HAS_THREAD = 1 << 5
_PINNED, _THREAD_CREATED, _REPLY, _THREAD_STARTER, _POLL_RESULT = 6, 18, 19, 21, 46
_REFERS = (_PINNED, _REPLY, _THREAD_STARTER, _POLL_RESULT)  # to another message of the channel
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


# Messages


def message_of(found: Json, name: NameOf = no_names) -> Message:
    """One message as our value, of every type: a type left out here would look like a gap.

    *name* returns the names of channels and roles that it mentions.
    """
    number = int(found["id"])
    person = person_of(found)
    author = found.get("author")
    kind = whole_in(found.get("type"))
    raw = raw_of(found, name)
    what, content = content_of(raw)
    return Message(
        id=MessageId(number),
        at=instant_in(found.get("timestamp")) or made_at(number),
        author=name_of(object_in(author)) if person is None else person.name,
        text=text_in(found.get("content")),
        edited_at=edited_at(found),
        reply_to=_reply(found) if kind in _REFERS else None,
        files=files_of(found),
        further_files=further_files_of(found),
        author_id=None if person is None else person.id,
        automatic=is_automatic(found),
        service="" if kind in WRITTEN else try_enum(MessageType, kind).name,
        thread=_thread(found, kind),
        reactions=reactions_of(found),
        kind=what,
        content=content,
        counts=counts_of(found),
        raw=raw,
        person=person,
    )


def edited_at(found: Json) -> datetime | None:
    edited = found.get("edited_timestamp")
    return instant_in(edited) if edited else None


def reactions_of(found: Json) -> tuple[Reaction, ...]:
    return tuple(
        Reaction(emoji_of(one["emoji"]), whole_in(one.get("count")))
        for one in objects_in(found.get("reactions"))
        if isinstance(one.get("emoji"), dict)
    )


def _reply(found: Json) -> MessageId | None:
    reference = object_in(found.get("message_reference"))
    elsewhere = reference.get("channel_id", found.get("channel_id")) != found.get("channel_id")
    number = id_in(reference.get("message_id"))
    if elsewhere or reference.get("type") == _FORWARD or number is None:
        return None
    return MessageId(number)


def _thread(found: Json, kind: int) -> ChannelId | None:
    """A thread under a message has the message's own number; one created separately is named by the announcement."""
    if kind == _THREAD_CREATED:
        channel = id_in(object_in(found.get("message_reference")).get("channel_id"))
        if channel is not None:
            return ChannelId(channel)
    flags = found.get("flags")
    return ChannelId(int(found["id"])) if flags and whole_in(flags) & _HAS_THREAD else None


# Channels


def holds_messages(found: Json) -> bool:
    """Whether a channel has messages or threads; one of an unknown kind does when it names its newest message."""
    kind = int(found["type"])
    return kind in _KINDS or (kind not in _SILENT and "last_message_id" in found)


def channel_of(
    found: Json,
    rights: ChannelPermissions,
    *,
    guild: str | None = None,
    server: str = "",
    largest_file: int | None = None,
) -> Channel:
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
        description=text_in(found.get("topic")),
        server=server,
    )


def largest_file_in(guild: Json) -> int | None:
    """The maximum file size in a guild, by its boost tier; None for an unknown tier."""
    return _LARGEST_FILE.get(guild.get("premium_tier", -1))


def thread_heads(messages: Iterable[Json]) -> dict[ChannelId, Head]:
    """The heads of threads that were started from these messages."""
    threads = [one["thread"] for one in messages if one.get("thread")]
    return {ChannelId(int(one["id"])): head_of(one, None) for one in threads}


def head_of(found: Json, channel: Channel | None) -> Head:
    """A channel's head; its newest message may be deleted by now."""
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
    return Me(id=UserId(int(found["id"])), name=name_of(found))


def instant(text: str) -> datetime:
    """An instant as Discord writes it, converted to UTC."""
    return datetime.fromisoformat(text).astimezone(UTC)


def messages_of(page: Iterable[Json], name: NameOf = no_names) -> list[Message]:
    """A page's messages, newest first by number: messages of one millisecond can arrive out of order."""
    return sorted((message_of(one, name) for one in page), key=lambda one: one.id, reverse=True)
