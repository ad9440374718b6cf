"""Gateway events about messages, as updates of their channel. Pure.

These are the raw events: they arrive for every message, however old. An edit event may contain only part of its
message. When Discord fills in a preview, it sends an edit event without an edit time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tidegate.core.ids import MessageId
from tidegate.core.message_content import NO_COUNTS
from tidegate.platforms.discord.messages.content import content_of
from tidegate.platforms.discord.messages.emoji import emoji_of
from tidegate.platforms.discord.messages.files import files_of, further_files_by_role, reaction_file
from tidegate.platforms.discord.messages.json_values import object_in, text_in
from tidegate.platforms.discord.messages.polls import counts_of
from tidegate.platforms.discord.messages.raw_fields import NameOf, changes_of
from tidegate.platforms.discord.permissions import Json
from tidegate.platforms.discord.translation import edited_at, message_of, reactions_of
from tidegate.platforms.interface import ChannelUpdates, Patch, Reacted, Recounted, Voted

ReadEvent = Callable[[Json, NameOf], ChannelUpdates]

_WHOLE = ("author", "timestamp", "content")


def _posted(data: Json, name: NameOf) -> ChannelUpdates:
    return ChannelUpdates(None, posted=[message_of(data, name)])


def _edited(data: Json, name: NameOf) -> ChannelUpdates:
    """A real edit with its whole message becomes an edit; any other event changes only the fields it contains.

    Without reactions in it, the event says nothing about them: a message that lost them is told by events of theirs.
    The results of a poll come with the event that closes it, and are numbers.
    """
    whole = message_of(data, name) if all(key in data for key in _WHOLE) else None
    if whole is not None and whole.edited_at is not None and "reactions" in data:
        return ChannelUpdates(None, edited=[whole])
    edited = edited_at(data)
    number = MessageId(int(data["id"]))
    patch = Patch(
        id=number,
        edited_at=edited,
        text=text_in(data["content"]) if edited and "content" in data else None,
        files=files_of(data) if edited and "attachments" in data else None,
        further_files=further_files_by_role(data),
        reactions=reactions_of(data) if "reactions" in data else None,
        raw=changes_of(data, name),
        read=content_of,
        whole=whole,
    )
    counts = counts_of(data)
    recounted = [Recounted(number, counts=counts)] if counts != NO_COUNTS else []
    return ChannelUpdates(None, patched=[patch], recounted=recounted)


def _deleted(data: Json, _: NameOf) -> ChannelUpdates:
    return ChannelUpdates(None, deleted=[MessageId(int(data["id"]))])


def _bulk_deleted(data: Json, _: NameOf) -> ChannelUpdates:
    return ChannelUpdates(None, deleted=[MessageId(int(number)) for number in data["ids"]])


def _reacted(change: int) -> ReadEvent:
    def read(data: Json, _: NameOf) -> ChannelUpdates:
        emoji = emoji_of(data["emoji"]) if "emoji" in data else None
        picture = reaction_file(object_in(data.get("emoji"))) if change > 0 else None
        return ChannelUpdates(None, reacted=[Reacted(MessageId(int(data["message_id"])), emoji, change, picture)])

    return read


def _voted(change: int) -> ReadEvent:
    def read(data: Json, _: NameOf) -> ChannelUpdates:
        vote = Voted(MessageId(int(data["message_id"])), str(int(data["answer_id"])), change)
        return ChannelUpdates(None, voted=[vote])

    return read


# Pins need no event of their own: an edit event brings the message with its mark. CHANNEL_PINS_UPDATE names no message.
MESSAGE_EVENTS: Final[Mapping[str, ReadEvent]] = {
    "MESSAGE_CREATE": _posted,
    "MESSAGE_UPDATE": _edited,
    "MESSAGE_DELETE": _deleted,
    "MESSAGE_DELETE_BULK": _bulk_deleted,
    "MESSAGE_REACTION_ADD": _reacted(1),
    "MESSAGE_REACTION_REMOVE": _reacted(-1),
    "MESSAGE_REACTION_REMOVE_EMOJI": _reacted(0),
    "MESSAGE_REACTION_REMOVE_ALL": _reacted(0),
    "MESSAGE_POLL_VOTE_ADD": _voted(1),
    "MESSAGE_POLL_VOTE_REMOVE": _voted(-1),
}
