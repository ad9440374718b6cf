"""News that tells a part of a message: what of it changed, and how often people reacted to it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import asyncpg

from tidegate.port import (
    ChannelId,
    File,
    FileHandle,
    FileId,
    FileKind,
    Message,
    MessageId,
    Patch,
    Reacted,
    Reaction,
    TopicId,
)
from tidegate.store.database import Connection


async def stored(connection: Connection, key: int, ids: Collection[MessageId]) -> dict[MessageId, Message]:
    """Messages as they are stored, deleted ones too, locked until the transaction ends; files without a handle."""
    rows = await connection.fetch(
        "SELECT *, extra::text AS said FROM messages WHERE channel = $1 AND id = ANY($2) ORDER BY id FOR UPDATE",
        key, list(ids),
    )  # fmt: skip
    files: dict[int, list[File]] = {row["id"]: [] for row in rows}
    for row in await connection.fetch(
        "SELECT * FROM attachments WHERE channel = $1 AND message = ANY($2) ORDER BY message, number", key, list(ids)
    ):
        files[row["message"]].append(_file(row))
    return {MessageId(row["id"]): _message(row, files[row["id"]]) for row in rows}


def patched(message: Message, patch: Patch) -> Message | None:
    """A message with what a patch says of it; None when the patch is late.

    Without an instant of its own nobody edited anything: the text stays, and no revision is made of it.
    """
    if patch.edited_at is None:
        patch = replace(patch, text=None, edited_at=message.edited_at)
    elif message.edited_at is not None and patch.edited_at < message.edited_at:
        return None
    return replace(
        message,
        edited_at=patch.edited_at,
        text=message.text if patch.text is None else patch.text,
        files=message.files if patch.files is None else patch.files,
        reactions=message.reactions if patch.reactions is None else patch.reactions,
        extra=message.extra if patch.extra is None else _with(message.extra, patch.extra),
    )


async def versions(connection: Connection, key: int, patches: Sequence[Patch]) -> list[Message]:
    """The messages that patches make, in their order; one that is not stored and not told whole makes none."""
    known = await stored(connection, key, {patch.id for patch in patches}) if patches else {}
    made: list[Message] = []
    for patch in patches:
        before = known.get(patch.id)
        after = patch.whole if patch.whole is not None or before is None else patched(before, patch)
        if after is not None:
            known[patch.id] = after
            made.append(after)
    return made


async def react(connection: Connection, key: int, reacted: Iterable[Reacted]) -> None:
    """Count reactions that were added and taken back; a message that is not stored brings its count when it comes."""
    news = list(reacted)
    known = await stored(connection, key, {one.message for one in news}) if news else {}
    counts = {number: {one.emoji: one.count for one in message.reactions} for number, message in known.items()}
    for one in news:
        if one.message in counts:
            counts[one.message] = after_reaction(counts[one.message], one)
    await connection.execute(
        """
        UPDATE messages m SET reactions = t.reactions::jsonb
        FROM unnest($2::bigint[], $3::text[]) AS t (id, reactions)
        WHERE m.channel = $1 AND m.id = t.id
        """,
        key, list(counts), [json.dumps(one).replace("\\u0000", "") for one in counts.values()],
    )  # fmt: skip


def after_reaction(counts: Mapping[str, int], one: Reacted) -> dict[str, int]:
    """How often each sign was used after one more piece of news; a count never falls below nothing."""
    if one.emoji is None:
        return {}
    left = 0 if one.change == 0 else max(0, counts.get(one.emoji, 0) + one.change)
    others = {emoji: count for emoji, count in counts.items() if emoji != one.emoji}
    return {**others, one.emoji: left} if left else others


def _with(extra: str, more: str) -> str:
    """What the platform said before, with what it says now in its place."""
    before: dict[str, Any] = json.loads(extra) if extra else {}
    return json.dumps({**before, **(json.loads(more) if more else {})})


def _message(row: asyncpg.Record, files: Sequence[File]) -> Message:
    return Message(
        id=MessageId(row["id"]),
        at=row["at"],
        author=row["author"],
        text=row["text"],
        topic=None if row["topic"] is None else TopicId(row["topic"]),
        edited_at=row["edited_at"],
        reply_to=None if row["reply_to"] is None else MessageId(row["reply_to"]),
        album=row["album"],
        files=files,
        author_id=row["author_id"],
        automatic=row["automatic"],
        service=row["service"],
        thread=None if row["thread"] is None else ChannelId(row["thread"]),
        reactions=[Reaction(emoji, count) for emoji, count in row["reactions"].items()],
        extra=row["said"] or "",
    )


def _file(row: asyncpg.Record) -> File:
    return File(FileId(row["file"]), row["name"], row["size"], row["mime"], FileKind(row["kind"]), FileHandle(""))
