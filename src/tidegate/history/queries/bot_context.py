"""A channel's newest stored messages for a bot, and from where on its history is complete; makes no platform call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import MessageId
from tidegate.core.json_fields import instant
from tidegate.core.message_content import MessageContent, MessageKind
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.history.content_documents import StoredContent, content_object, plain, stored_content
from tidegate.history.content_json import answered_channel
from tidegate.history.queries import coverage
from tidegate.history.queries.timeline import AttachedFile, files_of
from tidegate.history.rules.content_summary import content_words, forward_words, with_names
from tidegate.history.rules.context_lines import AnsweredMessage, ContextLine, Here, line_of, within
from tidegate.history.rules.coverage import Content, incomplete_before
from tidegate.platforms.interface import FileRole
from tidegate.scans.queries import scan_memory

MOST = 50_000
"""Messages of one context."""

PART = 250
"""How many messages are read and written at a time."""


@dataclass(frozen=True, slots=True)
class ContextBounds:
    """How much is wanted: the newest *limit* messages before a number, in *chars* characters; deleted texts or not."""

    limit: int = 100
    chars: int | None = None
    before: MessageId | None = None
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class ContextOutline:
    """Which messages a context has, oldest first, and before which its history is incomplete: both of one moment.

    Their ages are relative to *now*. The texts are read part by part.
    """

    channel: KnownChannel
    ids: Sequence[MessageId]
    incomplete_before: int | None
    now: datetime

    @property
    def parts(self) -> list[Sequence[MessageId]]:
        return [self.ids[at : at + PART] for at in range(0, len(self.ids), PART)]

    @property
    def first_lines(self) -> list[str]:
        """What the lines of a text begin with: where the history is incomplete."""
        missing = f"(history is incomplete before {self.incomplete_before})"
        return [] if self.incomplete_before is None else [missing]


@dataclass(frozen=True, slots=True)
class ContextBatch:
    """Messages of a context as they are stored, with those that they answer and their files."""

    rows: Sequence[asyncpg.Record]
    answered: Mapping[MessageId, asyncpg.Record]
    files: Mapping[MessageId, Sequence[AttachedFile]]


@dataclass(frozen=True, slots=True)
class Context:
    """A channel's newest messages, oldest first, each with its line. Before *incomplete_before* some may be missing."""

    outline: ContextOutline
    messages: list[dict[str, Any]]

    @property
    def incomplete_before(self) -> int | None:
        return self.outline.incomplete_before

    @property
    def lines(self) -> list[str]:
        """The answer as text; the first line says where the history is incomplete."""
        return [*self.outline.first_lines, *(one["line"] for one in self.messages)]

    def as_json(self) -> dict[str, Any]:
        return {
            "channel": self.outline.channel.number,
            "title": self.outline.channel.title,
            "messages": self.messages,
            "incomplete_before": self.incomplete_before,
        }


async def read(connection: Connection, channel: KnownChannel, bounds: ContextBounds, here: Here) -> Context:
    """What is stored of a channel, and where it is incomplete, all of one moment although pages may be arriving."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        found = await _outline(connection, channel, bounds)
        parts = [await load(connection, channel, ids) for ids in found.parts]
    messages = [one for part in parts for one in documents(part, bounds, now=found.now, here=here)]
    return Context(found, fitting(messages, bounds.chars))


async def outline(connection: Connection, channel: KnownChannel, bounds: ContextBounds) -> ContextOutline:
    """Which messages a context has; *chars* of the bounds are applied when the lines are known."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        return await _outline(connection, channel, bounds)


async def _outline(connection: Connection, channel: KnownChannel, bounds: ContextBounds) -> ContextOutline:
    ids: list[MessageId] = await connection.fetchval(_NEWEST, channel.key, bounds.before, bounds.limit)
    covered = (await coverage.load(connection, channel.key))[Content.MESSAGES]
    newest = await scan_memory.newest_seen(connection, channel.key)
    now: datetime = await connection.fetchval("SELECT clock_now()")
    upto = max(newest, *ids[-1:], 0)
    upto = upto if bounds.before is None else min(upto, bounds.before - 1)
    return ContextOutline(channel, ids, incomplete_before(covered, upto=upto), now)


# By number, which is the platform's own order; a deleted message keeps its place.
_NEWEST = """
    SELECT coalesce(array_agg(id ORDER BY id), '{}')
    FROM (
        SELECT id FROM messages
        WHERE channel = $1 AND id < coalesce($2, 9223372036854775807)
        ORDER BY id DESC
        LIMIT $3
    ) AS newest
"""

_MESSAGES = """
    SELECT m.id, m.at, m.author, m.author_id, m.automatic, m.text, m.service, m.topic, m.reply_to, m.edited_at,
        m.deleted_at, m.erased_at, m.reactions, m.kind, m.content, m.counts, m.counted_at, p.kind AS person_kind,
        false AS with_raw,
        (SELECT count(*) FROM message_revisions r WHERE r.channel = m.channel AND r.message = m.id) AS revisions
    FROM messages m LEFT JOIN people p ON p.platform = $3 AND p.id = m.author_id
    WHERE m.channel = $1 AND m.id = ANY($2)
    ORDER BY m.id
"""


async def load(connection: Connection, channel: KnownChannel, ids: Sequence[MessageId]) -> ContextBatch:
    """These messages of a channel; one that was removed meanwhile is left out."""
    rows = await connection.fetch(_MESSAGES, channel.key, ids, channel.platform)
    wanted = {row["reply_to"] for row in rows if row["reply_to"] is not None}
    found = await connection.fetch(
        "SELECT id, author, text, kind, deleted_at FROM messages WHERE channel = $1 AND id = ANY($2)",
        channel.key, list(wanted),
    )  # fmt: skip
    return ContextBatch(
        rows, {row["id"]: row for row in found}, await files_of(connection, channel.key, [row["id"] for row in rows])
    )


def documents(part: ContextBatch, bounds: ContextBounds, *, now: datetime, here: Here) -> list[dict[str, Any]]:
    """The messages of a part for a script, each with its line."""
    return [_document(_context_row(row, part, bounds), now, here) for row in part.rows]


def fitting(messages: Sequence[dict[str, Any]], chars: int | None) -> list[dict[str, Any]]:
    """The newest of *messages* whose lines fit into *chars* characters; a newest one that is too long is cut."""
    lines = within([one["line"] for one in messages], chars)
    newest = messages[len(messages) - len(lines) :]
    return [{**one, "line": line} for one, line in zip(newest, lines, strict=True)]


@dataclass(frozen=True, slots=True)
class _ContextRow:
    """A message of a context. *hidden* is the text of a deleted one, *quote_hidden* a piece of one that it answers.

    *files* are its own, *forwarded* those of a message that it forwards.
    """

    row: asyncpg.Record
    stored: StoredContent
    answered: asyncpg.Record | None
    files: Sequence[AttachedFile]
    forwarded: Sequence[AttachedFile]
    hidden: bool
    quote_hidden: bool


def _context_row(row: asyncpg.Record, part: ContextBatch, bounds: ContextBounds) -> _ContextRow:
    elsewhere = answered_channel(row["content"]) is not None
    answered = None if elsewhere else part.answered.get(row["reply_to"])
    files = part.files.get(row["id"], ())
    return _ContextRow(
        row,
        stored_content(row, answered=None if answered is None else answered["author"]),
        answered,
        [one for one in files if one.role == FileRole.OWN],
        [one for one in files if one.role == FileRole.FORWARD],
        hidden=row["deleted_at"] is not None and not bounds.deleted,
        quote_hidden=answered is not None and answered["deleted_at"] is not None and not bounds.deleted,
    )


def _context_line(one: _ContextRow) -> ContextLine:
    row, content = one.row, one.stored.content
    return from_row(
        ContextLine,
        row,
        text=with_names(_texts(row["text"], content), content.mentions or {}),
        holds=content_words(one.stored.kind, content, one.stored.counts, [*one.files, *one.forwarded]),
        forwarded="" if content.forward is None else forward_words(content.forward),
        service=content.service or row["service"],
        answers=_answer(one),
        edited=row["edited_at"] is not None,
        deleted=row["deleted_at"] is not None,
        hidden=one.hidden,
    )


def _texts(text: str, content: MessageContent) -> str:
    """What was written, and what was forwarded with it."""
    return text if content.forward is None else "\n".join((text, content.forward.text))


def _answer(one: _ContextRow) -> AnsweredMessage | None:
    """What is answered: the piece that is quoted, or the beginning of the message."""
    reply, answered = one.stored.content.reply, one.answered
    if one.row["reply_to"] is None and reply is None:
        return None
    if one.quote_hidden:
        return AnsweredMessage(one.stored.answered, "(deleted)")
    text = reply.quote if reply is not None and reply.quote else None if answered is None else _beginning(answered)
    author = reply.author if reply is not None and reply.author else one.stored.answered
    return AnsweredMessage(author if text is None else author or "", text)


def _beginning(answered: asyncpg.Record) -> str:
    """The text of an answered message, or what it is."""
    text, kind = answered["text"], answered["kind"]
    return text or (f"[{kind}]" if kind not in ("", MessageKind.TEXT) else "")


def _document(one: _ContextRow, now: datetime, here: Here) -> dict[str, Any]:
    """One message for a script; a deleted one has neither text nor files unless they were asked for."""
    row = one.row
    return {
        "id": row["id"],
        "at": row["at"].isoformat(),
        "author": row["author"],
        "author_id": row["author_id"],
        "text": None if one.hidden else row["text"],
        "files": [] if one.hidden else [file.name for file in one.files],
        "attachments": [] if one.hidden else plain(one.files),
        "service": row["service"],
        "topic": row["topic"],
        "reply_to": row["reply_to"],
        "reactions": row["reactions"],
        "edited_at": instant(row["edited_at"]),
        "deleted_at": instant(row["deleted_at"]),
        "erased_at": instant(row["erased_at"]),
        "revisions": row["revisions"],
        **content_object(one.stored, hidden=one.hidden, quote_hidden=one.quote_hidden),
        "line": line_of(_context_line(one), now=now, here=here),
    }
