"""What the gateway tells of messages, as hints. Pure.

These are the raw events: they come for every message, however old. An edit may bring a part of its message only; an
"edit" that nobody made, when Discord fills in a preview, has no instant of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tidegate.platforms.discord.rights import Json
from tidegate.platforms.discord.translate import changes_of, edited_at, emoji_of, files_of, message_of, reactions_of
from tidegate.port import ChannelId, Hint, MessageId, News, Patch, Reacted

_WHOLE = ("author", "timestamp", "content")


def _posted(data: Json) -> News:
    return News(None, posted=[message_of(data)])


def _edited(data: Json) -> News:
    """A real edit that brings its whole message is an edit; all else changes what it names and nothing more."""
    whole = message_of(data) if all(key in data for key in _WHOLE) else None
    if whole is not None and whole.edited_at is not None:
        return News(None, edited=[whole])
    edited = edited_at(data)
    patch = Patch(
        id=MessageId(int(data["id"])),
        edited_at=edited,
        text=(data.get("content") or "") if edited and "content" in data else None,
        files=files_of(data) if edited and "attachments" in data else None,
        reactions=reactions_of(data) if "reactions" in data else None,
        extra=changes_of(data),
        whole=whole,
    )
    return News(None, patched=[patch])


def _deleted(data: Json) -> News:
    return News(None, deleted=[MessageId(int(data["id"]))])


def _bulk_deleted(data: Json) -> News:
    return News(None, deleted=[MessageId(int(number)) for number in data["ids"]])


def _reacted(data: Json, change: int) -> News:
    emoji = emoji_of(data["emoji"]) if "emoji" in data else None
    return News(None, reacted=[Reacted(MessageId(int(data["message_id"])), emoji, change)])


_MESSAGES: Final[Mapping[str, Callable[[Json], News]]] = {
    "MESSAGE_CREATE": _posted,
    "MESSAGE_UPDATE": _edited,
    "MESSAGE_DELETE": _deleted,
    "MESSAGE_DELETE_BULK": _bulk_deleted,
    "MESSAGE_REACTION_ADD": lambda data: _reacted(data, 1),
    "MESSAGE_REACTION_REMOVE": lambda data: _reacted(data, -1),
    "MESSAGE_REACTION_REMOVE_EMOJI": lambda data: _reacted(data, 0),
    "MESSAGE_REACTION_REMOVE_ALL": lambda data: _reacted(data, 0),
}


def tells_of_messages(event: str) -> bool:
    return event in _MESSAGES


def hint_of(event: str, data: Json) -> Hint:
    """What an event that tells of messages says."""
    return Hint(ChannelId(int(data["channel_id"])), _MESSAGES[event](data))
