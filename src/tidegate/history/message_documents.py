"""JSON documents of messages: as people read a channel, with earlier and deleted texts, and as a bot reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import ChannelId, GuildId, MessageId, TopicId, UserId
from tidegate.core.json_fields import Instant, instant
from tidegate.history.content_documents import ContentFields, content_fields
from tidegate.history.queries.timeline import AttachedFile, Timeline, TimelineMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierText:
    """The text of a message from *written_at* until it was edited, which was noticed at *replaced_at*."""

    text: str
    written_at: Instant
    replaced_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFields(ContentFields):
    """What every document of a message has. The text of a deleted message is null unless it was requested.

    *service* is the platform's name of what it announced. *revisions* is how many earlier texts are stored. Of a
    message that was erased, at *erased_at*, nothing but its number, time and topic is left.
    """

    id: MessageId
    at: Instant
    author: str
    author_id: UserId | None
    text: str | None
    service: str
    topic: TopicId | None
    reply_to: MessageId | None
    reactions: dict[str, int]
    edited_at: Instant | None
    deleted_at: Instant | None
    erased_at: Instant | None
    revisions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageShown(MessageFields):
    """A message as people read it. A deleted one has neither files nor earlier texts unless they were requested.

    *earlier* are the newest of its earlier texts.
    """

    files: list[AttachedFile]
    earlier: list[EarlierText]
    link: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextMessage(MessageFields):
    """A message as a bot reads it: its files by name, *attachments* the same with all that is known, and its *line*."""

    files: list[str]
    attachments: list[AttachedFile]
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextDocument:
    """A channel's newest messages, oldest first. Before *incomplete_before* some may be missing."""

    channel: ChannelId
    title: str
    messages: list[ContextMessage]
    incomplete_before: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesPage:
    """Messages, oldest first. *older* and *newer* continue on either side, as *before* and *since*; null at the end.

    *server* is the name of the Discord server that the channel is in, and empty elsewhere.
    """

    channel: ChannelId
    title: str
    guild: GuildId | None
    server: str
    messages: list[MessageShown]
    older: int | None
    newer: int | None


def messages_page(kept: KnownChannel, found: Timeline, *, deleted: bool) -> MessagesPage:
    """A range of a channel's messages; with the texts of *deleted* messages or without."""
    shown = [message_shown(one, deleted=deleted) for one in found.messages]
    return MessagesPage(
        channel=kept.number,
        title=kept.title,
        guild=kept.guild,
        server=kept.server,
        messages=shown,
        older=shown[0].id if found.has_older and shown else None,
        newer=shown[-1].id + 1 if found.has_newer and shown else None,
    )


def message_shown(one: TimelineMessage, *, deleted: bool) -> MessageShown:
    """One message."""
    hidden = one.deleted_at is not None and not deleted
    quote_hidden = one.answered is not None and one.answered.deleted and not deleted
    return MessageShown(
        **fields_of(content_fields(one.stored, hidden=hidden, quote_hidden=quote_hidden)),
        id=one.id,
        at=one.at.isoformat(),
        author=one.author,
        author_id=one.author_id,
        text=None if hidden else one.text,
        service=one.service,
        topic=one.topic,
        reply_to=one.reply_to,
        reactions=one.reactions,
        edited_at=instant(one.edited_at),
        deleted_at=instant(one.deleted_at),
        erased_at=instant(one.erased_at),
        files=[] if hidden else list(one.files),
        earlier=[]
        if hidden
        else [
            EarlierText(text=e.text, written_at=e.written_at.isoformat(), replaced_at=e.replaced_at.isoformat())
            for e in one.earlier
        ],
        revisions=one.revisions,
        link=one.link,
    )


def fields_of(fields: ContentFields) -> dict[str, Any]:
    """The fields by name, to put them beside others."""
    return {name: getattr(fields, name) for name in ContentFields.__slots__}
