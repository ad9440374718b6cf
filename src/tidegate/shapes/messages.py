"""Messages as people read a channel: with what they said earlier, and those that were deleted."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.shapes.instants import Instant, instant
from tidegate.store.chronicle import Chronicle, Written


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOf:
    """A file of a message."""

    name: str
    size: int
    mime: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierText:
    """What a message said from *written_at* until somebody changed it, which was noticed at *replaced_at*."""

    text: str
    written_at: Instant
    replaced_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageShown:
    """A message. Of a deleted one neither texts nor files are told unless they were asked for."""

    id: int
    at: Instant
    author: str
    author_id: int | None
    text: str | None
    service: str
    topic: int | None
    reply_to: int | None
    reactions: dict[str, int]
    edited_at: Instant | None
    deleted_at: Instant | None
    files: list[FileOf]
    earlier: list[EarlierText]
    link: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesPage:
    """Messages, oldest first. *older* and *newer* go on on either side, as *before* and *since*; null at the end."""

    channel: int
    title: str
    messages: list[MessageShown]
    older: int | None
    newer: int | None


def messages_page(number: int, title: str, found: Chronicle, *, deleted: bool) -> MessagesPage:
    """A stretch of a channel; with the texts of *deleted* messages or without."""
    shown = [message_shown(one, deleted=deleted) for one in found.messages]
    return MessagesPage(
        channel=number,
        title=title,
        messages=shown,
        older=shown[0].id if found.has_older and shown else None,
        newer=shown[-1].id + 1 if found.has_newer and shown else None,
    )


def message_shown(one: Written, *, deleted: bool) -> MessageShown:
    """One message."""
    hidden = one.deleted_at is not None and not deleted
    return MessageShown(
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
        files=[] if hidden else [FileOf(name=f.name, size=f.size, mime=f.mime, kind=f.kind) for f in one.files],
        earlier=[]
        if hidden
        else [
            EarlierText(text=e.text, written_at=e.written_at.isoformat(), replaced_at=e.replaced_at.isoformat())
            for e in one.earlier
        ],
        link=one.link,
    )
