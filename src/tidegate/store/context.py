"""The newest messages of a channel as they are stored, and from where on its history is complete; asks no platform."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from tidegate.port import MessageId
from tidegate.rules.history import Content, incomplete_before
from tidegate.rules.telling import Answered, Here, Told, line_of, within
from tidegate.store import coverage, places
from tidegate.store.channels import Kept
from tidegate.store.database import Connection

MOST = 50_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is wanted: the newest so many messages before a number, in so many characters; deleted texts or not."""

    limit: int = 100
    chars: int | None = None
    before: MessageId | None = None
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """A channel's newest messages, oldest first, each with its line. Before *incomplete_before* some may be missing."""

    channel: Kept
    messages: list[dict[str, Any]]
    incomplete_before: int | None

    @property
    def lines(self) -> list[str]:
        """The answer as text; the first line says where the history is incomplete."""
        missing = f"(history is incomplete before {self.incomplete_before})"
        return [*([] if self.incomplete_before is None else [missing]), *(one["line"] for one in self.messages)]

    def as_json(self) -> dict[str, Any]:
        return {
            "channel": self.channel.number,
            "title": self.channel.title,
            "messages": self.messages,
            "incomplete_before": self.incomplete_before,
        }


async def read(connection: Connection, channel: Kept, bounds: Bounds, here: Here) -> Context:
    """What is stored of a channel, and where it is incomplete, both of one moment although pages may be arriving."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        rows = await connection.fetch(_NEWEST, channel.key, bounds.before, bounds.limit)
        answered = await _answered(connection, channel.key, rows)
        covered = (await coverage.load(connection, channel.key))[Content.MESSAGES]
        newest = await places.newest_seen(connection, channel.key)
        now: datetime = await connection.fetchval("SELECT clock_now()")
    upto = max([newest, *(row["id"] for row in rows)])
    upto = upto if bounds.before is None else min(upto, bounds.before - 1)
    told = [(row, _told(row, answered, bounds)) for row in reversed(rows)]
    lines = [line_of(one, now=now, here=here) for _, one in told]
    kept = within(lines, bounds.chars)
    shown = told[len(told) - len(kept) :]
    return Context(
        channel,
        [_document(row, one, line) for (row, one), line in zip(shown, kept, strict=True)],
        incomplete_before(covered, upto=upto),
    )


# By number, which is the platform's own order; a deleted message keeps its place.
_NEWEST = """
    SELECT m.id, m.at, m.author, m.author_id, m.text, m.service, m.topic, m.reply_to, m.edited_at, m.deleted_at,
        m.reactions,
        ARRAY(SELECT name FROM attachments a WHERE a.channel = m.channel AND a.message = m.id ORDER BY number) AS files,
        (SELECT count(*) FROM message_revisions r WHERE r.channel = m.channel AND r.message = m.id) AS revisions
    FROM messages m
    WHERE m.channel = $1 AND m.id < coalesce($2, 9223372036854775807)
    ORDER BY m.id DESC
    LIMIT $3
"""


async def _answered(connection: Connection, key: int, rows: Iterable[asyncpg.Record]) -> dict[int, asyncpg.Record]:
    wanted = {row["reply_to"] for row in rows if row["reply_to"] is not None}
    found = await connection.fetch(
        "SELECT id, author, text, deleted_at FROM messages WHERE channel = $1 AND id = ANY($2)", key, list(wanted)
    )
    return {row["id"]: row for row in found}


def _told(row: asyncpg.Record, answered: dict[int, asyncpg.Record], bounds: Bounds) -> Told:
    return Told(
        at=row["at"],
        author=row["author"],
        author_id=row["author_id"],
        text=row["text"],
        files=row["files"],
        service=row["service"],
        answers=None if row["reply_to"] is None else _answer(answered.get(row["reply_to"]), bounds),
        edited=row["edited_at"] is not None,
        deleted=row["deleted_at"] is not None,
        hidden=row["deleted_at"] is not None and not bounds.deleted,
    )


def _answer(row: asyncpg.Record | None, bounds: Bounds) -> Answered:
    if row is None:
        return Answered(None, None)
    hidden = row["deleted_at"] is not None and not bounds.deleted
    return Answered(row["author"], "(deleted)" if hidden else row["text"])


def _document(row: asyncpg.Record, told: Told, line: str) -> dict[str, Any]:
    """One message for a script; of a deleted one that was not asked for neither text nor files."""
    return {
        "id": row["id"],
        "at": row["at"].isoformat(),
        "author": row["author"],
        "author_id": row["author_id"],
        "text": None if told.hidden else row["text"],
        "files": [] if told.hidden else row["files"],
        "service": row["service"],
        "topic": row["topic"],
        "reply_to": row["reply_to"],
        "reactions": row["reactions"],
        "edited_at": None if row["edited_at"] is None else row["edited_at"].isoformat(),
        "deleted_at": None if row["deleted_at"] is None else row["deleted_at"].isoformat(),
        "revisions": row["revisions"],
        "line": line,
    }
