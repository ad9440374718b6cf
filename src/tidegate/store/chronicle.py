"""A channel's messages as people read them: in both directions, from a date on, with earlier texts and tombstones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from tidegate.port import MessageId
from tidegate.rules.linking import original_link
from tidegate.store.channels import Kept
from tidegate.store.database import Connection

_LAST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Earlier:
    """What a message said before somebody changed it."""

    text: str
    written_at: datetime
    replaced_at: datetime


@dataclass(frozen=True, slots=True)
class Attached:
    """A file of a message."""

    name: str
    size: int
    mime: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A message, whom it answers, what it said earlier and whether it is still there."""

    id: MessageId
    at: datetime
    author: str
    author_id: int | None
    text: str
    service: str
    topic: int | None
    reply_to: int | None
    answered: str | None
    reactions: dict[str, int]
    edited_at: datetime | None
    deleted_at: datetime | None
    files: list[Attached]
    earlier: list[Earlier]
    link: str | None


@dataclass(frozen=True, slots=True)
class Chronicle:
    """Messages of a channel, oldest first, and whether there are others on either side of them."""

    messages: list[Written]
    has_older: bool
    has_newer: bool


_MESSAGES = """
    SELECT m.id, m.at, m.author, m.author_id, m.text, m.service, m.topic, m.reply_to, m.edited_at, m.deleted_at,
        m.reactions, a.author AS answered
    FROM messages m LEFT JOIN messages a ON a.channel = m.channel AND a.id = m.reply_to
    WHERE m.channel = $1 AND m.id {past} $2 ORDER BY m.id {way} LIMIT $3
"""


async def before(connection: Connection, kept: Kept, number: int | None, *, most: int) -> Chronicle:
    """The *most* messages before a number, or the newest."""
    rows = await connection.fetch(
        _MESSAGES.format(past="<", way="DESC"), kept.key, _LAST if number is None else number, most + 1
    )
    newer = number is not None and await _is_any(connection, kept.key, ">=", number)
    return Chronicle(await _written(connection, kept, rows[:most][::-1]), len(rows) > most, newer)


async def since(connection: Connection, kept: Kept, number: int, *, most: int) -> Chronicle:
    """The *most* messages from a number on, it included."""
    rows = await connection.fetch(_MESSAGES.format(past=">=", way="ASC"), kept.key, number, most + 1)
    older = await _is_any(connection, kept.key, "<", number)
    return Chronicle(await _written(connection, kept, rows[:most]), older, len(rows) > most)


async def one(connection: Connection, kept: Kept, number: int) -> Written | None:
    """A single message; None when it is not stored."""
    rows = await connection.fetch(_MESSAGES.format(past="=", way="ASC"), kept.key, number, 1)
    found = await _written(connection, kept, rows)
    return found[0] if found else None


async def first_at(connection: Connection, key: int, at: datetime) -> MessageId:
    """The number from which on messages are as late as *at*: the first of them, or beyond the last.

    Numbers grow with time, so the place is found by halving, in some sixty steps through the key however many
    messages there are.
    """
    low, high = 0, _LAST
    while low < high:
        middle = (low + high) // 2
        row = await connection.fetchrow(
            "SELECT id, at FROM messages WHERE channel = $1 AND id >= $2 ORDER BY id LIMIT 1", key, middle
        )
        if row is None or row["at"] >= at:
            high = middle
        else:
            low = row["id"] + 1
    return MessageId(low)


async def _is_any(connection: Connection, key: int, past: str, number: int) -> bool:
    found: bool = await connection.fetchval(
        f"SELECT EXISTS (SELECT FROM messages WHERE channel = $1 AND id {past} $2)", key, number
    )
    return found


async def _written(connection: Connection, kept: Kept, rows: Collection[asyncpg.Record]) -> list[Written]:
    numbers = [row["id"] for row in rows]
    files = await connection.fetch(
        "SELECT message, name, size, mime, kind FROM attachments "
        "WHERE channel = $1 AND message = ANY($2) ORDER BY message, number",
        kept.key, numbers,
    )  # fmt: skip
    earlier = await connection.fetch(
        "SELECT message, text, written_at, replaced_at FROM message_revisions "
        "WHERE channel = $1 AND message = ANY($2) ORDER BY message, number",
        kept.key, numbers,
    )  # fmt: skip
    guild = await connection.fetchval("SELECT guild FROM channels WHERE id = $1", kept.key)
    return [
        Written(
            **dict(row),
            files=[Attached(*_but_first(file)) for file in files if file["message"] == row["id"]],
            earlier=[Earlier(*_but_first(text)) for text in earlier if text["message"] == row["id"]],
            link=original_link(kept.platform, kept.number, row["id"], guild=guild, topic=row["topic"]),
        )
        for row in rows
    ]


def _but_first(row: asyncpg.Record) -> tuple[Any, ...]:
    return tuple(row.values())[1:]
