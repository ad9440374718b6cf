"""A channel as the platform holds it: its messages, topics, and the numbered log of everything that happened to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from telethon.tl import types

from tidegate.loopback.telegram.world.file_content import File

GENERAL = 1
"""The topic every forum begins with; it has no message that made it."""


class ActionKind(StrEnum):
    """The kinds of service messages."""

    CHANNEL_CREATED = "channel_created"
    TOPIC_CREATED = "topic_created"
    TOPIC_EDITED = "topic_edited"  # renamed, closed or opened


@dataclass(frozen=True, slots=True)
class Action:
    """The content of a service message: a channel or topic was made, a topic renamed or closed."""

    kind: ActionKind
    title: str = ""
    closed: bool | None = None  # whether the topic was closed or opened; None when neither


@dataclass(slots=True)
class Message:
    """One message."""

    id: int
    date: datetime
    text: str = ""
    topic: int = 0  # 0 outside of forums
    reply_to: int = 0
    sender: int = 0  # 0 for a user without an account here
    file: File | None = None
    action: Action | None = None
    edited_at: datetime | None = None
    album: int = 0
    fields: dict[str, Any] = field(default_factory=dict)  # further ones, named as in the platform's schema
    copies: dict[int, int] = field(default_factory=dict)  # its number in each view of a private chat

    @property
    def is_service(self) -> bool:
        return self.action is not None or "action" in self.fields

    @property
    def was_edited(self) -> bool:
        """Whether a person edited it; a reaction dates it too, and hides that."""
        return self.edited_at is not None and not self.fields.get("edit_hide")

    def differs(self, text: str | None, fields: Mapping[str, Any]) -> bool:
        """Whether this text, with no more formatting than *fields* bring, and these fields change anything."""
        loses_formatting = text is not None and "entities" in self.fields and "entities" not in fields
        changed = any(self.fields.get(name) != value for name, value in fields.items())
        return changed or loses_formatting or text not in (None, self.text)

    def mark(self, name: str, *, on: bool) -> None:
        """Set one of the flags among its fields, or clear it."""
        self.fields.pop(name, None)
        if on:
            self.fields[name] = True


@dataclass(slots=True)
class Topic:
    """One topic of a forum."""

    id: int
    title: str
    date: datetime  # when it was made
    pinned: bool = False
    closed: bool = False
    deleted: bool = False
    top: int = 0  # its newest message; kept after the topic was deleted, to give its row a place


class EventKind(StrEnum):
    """What happened to messages of a channel. Only the first kinds are in the channel's log."""

    NEW = "new"
    EDITED = "edited"
    DELETED = "deleted"
    PINNED = "pinned"
    UNPINNED = "unpinned"
    WEB_PAGE = "web_page"  # the preview of a link is known

    # Clients hear of these once; the log does not have them.
    REACTIONS = "reactions"
    POLL = "poll"
    VIEWS = "views"
    FORWARDS = "forwards"
    CHANNEL = "channel"  # the channel itself has changed


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a channel's log."""

    pts: int  # the channel's count after it
    count: int  # how far it moved the channel's count
    kind: EventKind
    messages: tuple[int, ...]


@dataclass(slots=True)
class Channel:
    """A channel, group or forum with all its data.

    With an *owner* it is that account's view of a private chat or, where *basic*, of a small group; see private_chats.
    """

    id: int
    title: str
    date: datetime
    forum: bool = False
    broadcast: bool = False
    protected: bool = False
    pushes: bool = True  # whether clients are told of changes
    archived: bool = False
    by_create_date: bool = False
    about: str = ""
    username: str = ""
    photo: int = 0
    members: set[int] = field(default_factory=set)
    writers: set[int] = field(default_factory=set)  # without any, every member may write
    messages: dict[int, Message] = field(default_factory=dict)  # ascending by id
    topics: dict[int, Topic] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    pts: int = 1
    oldest_pts: int = 1
    newest_id: int = 0  # ids are never given twice, so this does not go down
    owner: int = 0
    peer_id: int = 0
    basic: bool = False
    talk: int = 0
    moved_to: int = 0

    @property
    def top(self) -> int:
        """The newest message that is still there; it goes down when the newest is deleted."""
        return next(reversed(self.messages), 0)

    def note(self, kind: EventKind, messages: tuple[int, ...]) -> Event:
        count = len(messages)
        self.pts += count
        self.events.append(Event(self.pts, count, kind, messages))
        return self.events[-1]

    def tops(self) -> dict[int, int]:
        """The newest message of each topic; a topic without messages is not in it."""
        found: dict[int, int] = {}
        for message in self.messages.values():
            found[topic_of(message)] = message.id
        return found


def topic_of(message: Message) -> int:
    """The topic a message is shown in when its channel is a forum."""
    if message.action and message.action.kind is ActionKind.TOPIC_CREATED:
        return message.id
    if isinstance(message.fields.get("action"), types.MessageActionTopicCreate):
        return message.id
    return message.topic or GENERAL
