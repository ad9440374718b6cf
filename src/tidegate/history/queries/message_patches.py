"""Push updates about a part of a message: what changed in it, and how often people reacted to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import asyncpg

from tidegate.core.ids import ChannelKey, FileId, MessageId
from tidegate.core.message_content import NO_COUNTS, MessageCounts, MessageKind
from tidegate.core.rules.storable_text import ORIGINALS
from tidegate.database.notifier import mark_messages
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row, known_or
from tidegate.database.storable_connection import json_text
from tidegate.history.content_json import counts_json, read_content, read_counts
from tidegate.history.raw_json import is_readable, unpack
from tidegate.platforms.interface import (
    File,
    FileForm,
    FileHandle,
    FileKind,
    FileRole,
    Message,
    Patch,
    Previewed,
    Reacted,
    Reaction,
    Recounted,
    Voted,
)
from tidegate.search.rules.searchable_content import awaited_tag
from tidegate.search.rules.tokenizer import quoted


async def stored(connection: Connection, key: ChannelKey, ids: Collection[MessageId]) -> dict[MessageId, Message]:
    """Messages as they are stored, deleted ones too, locked until the transaction ends; files without a handle.

    An erased one counts as not stored.
    """
    rows = await connection.fetch(
        "SELECT * FROM messages WHERE channel = $1 AND id = ANY($2) AND erased_at IS NULL ORDER BY id FOR UPDATE",
        key, list(ids),
    )  # fmt: skip
    files: dict[MessageId, list[File]] = {row["id"]: [] for row in rows}
    for row in await connection.fetch(
        "SELECT * FROM attachments WHERE channel = $1 AND message = ANY($2) ORDER BY message, number", key, list(files)
    ):
        files[row["message"]].append(_file(row))
    return {MessageId(row["id"]): _message(row, files[row["id"]]) for row in rows}


def patched(message: Message, patch: Patch) -> Message | None:
    """A message with a patch applied; None when the patch is late.

    Without its own time the patch is not an edit: the text stays, and no revision is stored.
    """
    if patch.edited_at is None:
        patch = replace(patch, text=None, edited_at=message.edited_at)
    elif message.edited_at is not None and patch.edited_at < message.edited_at:
        return None
    raw = message.raw if patch.raw is None else _merged(message.raw, patch.raw)
    kind, content = (message.kind, message.content) if patch.read is None else patch.read(raw)
    if patch.marks is not None:
        content = replace(content, marks=_marked(content.marks, patch.marks))
    return replace(
        message,
        edited_at=patch.edited_at,
        text=message.text if patch.text is None else patch.text,
        files=message.files if patch.files is None else patch.files,
        further_files=_further(message.further_files, patch.further_files),
        reactions=message.reactions if patch.reactions is None else patch.reactions,
        kind=kind,
        content=content,
        raw=raw,
    )


def _marked(marks: Sequence[str], changed: Mapping[str, bool]) -> tuple[str, ...]:
    """The marks after some were set or removed; those that are set now come first, as when a message is read."""
    return (*(mark for mark, is_set in changed.items() if is_set), *(mark for mark in marks if mark not in changed))


async def versions(connection: Connection, key: ChannelKey, patches: Sequence[Patch]) -> list[Message]:
    """The messages that patches make, in their order; one that is neither stored nor complete makes none."""
    known = await stored(connection, key, {patch.id for patch in patches}) if patches else {}
    made: list[Message] = []
    for patch in patches:
        before = known.get(patch.id)
        after = patched(before, patch) if before is not None and patch.whole is None else patch.whole
        if after is not None and before is not None and after is patch.whole and patch.reactions is None:
            after = _with_reactions_of(before, after)
        if after is not None:
            known[patch.id] = after
            made.append(after)
    return made


def _with_reactions_of(before: Message, message: Message) -> Message:
    """A message whose event says nothing about reactions, with those that it had, and with their pictures."""
    pictures = (file for file in before.further_files if file.role is FileRole.REACTION)
    return replace(message, reactions=before.reactions, further_files=(*message.further_files, *pictures))


async def previewed(connection: Connection, key: ChannelKey, previews: Sequence[Previewed]) -> list[Message]:
    """The messages that previews belong to, as they are shown with them; a preview nobody awaits makes none."""
    changed: dict[MessageId, Message] = {}
    for one in previews:
        rows = await connection.fetch(
            "SELECT id FROM messages WHERE channel = $1 AND words @@ $2::text::tsquery",
            key, quoted(awaited_tag(one.awaited)),
        )  # fmt: skip
        known = await stored(connection, key, [MessageId(row["id"]) for row in rows])
        changed |= {
            number: one.shown(message)
            for number, message in known.items()
            if message.content.awaited_preview == one.awaited
        }
    return list(changed.values())


async def react(connection: Connection, key: ChannelKey, reacted: Sequence[Reacted]) -> None:
    """Count reactions that were added and taken back; a message that is not stored yet arrives with its own count."""
    known = await stored(connection, key, {one.message for one in reacted})
    counts = {number: {one.emoji: one.count for one in message.reactions} for number, message in known.items()}
    for one in reacted:
        if one.message in counts:
            counts[one.message] = after_reaction(counts[one.message], one)
    await _save_reactions(connection, key, counts)


async def vote(connection: Connection, key: ChannelKey, voted: Sequence[Voted]) -> None:
    """Count votes that were given and taken back; a poll that is not stored yet arrives with its own count."""
    known = await stored(connection, key, {one.message for one in voted})
    counts = {number: message.counts for number, message in known.items()}
    for one in voted:
        if one.message in counts:
            counts[one.message] = after_vote(counts[one.message], one)
    await _save_counts(connection, key, {number: counts_json(one) for number, one in counts.items()})


async def recount(connection: Connection, key: ChannelKey, recounted: Sequence[Recounted]) -> None:
    """Store the current numbers of messages; what they do not mention stays, and a message that is not stored too."""
    reactions = {one.message: one.reactions for one in recounted if one.reactions is not None}
    await _save_reactions(
        connection, key, {number: {one.emoji: one.count for one in told} for number, told in reactions.items()}
    )
    counts: dict[MessageId, dict[str, Any]] = {}
    for one in recounted:
        if one.counts != NO_COUNTS:
            counts[one.message] = counts.get(one.message, {}) | counts_json(one.counts)  # views and forwards come apart
    await _save_counts(connection, key, counts)


async def picture_reactions(
    connection: Connection, key: ChannelKey, pictures: Collection[tuple[MessageId, File]]
) -> list[tuple[MessageId, File]]:
    """Store the pictures of reactions with messages that are stored and lack them; returns those that are new."""
    new: list[tuple[MessageId, File]] = []
    for message, file in dict.fromkeys(pictures):
        added = await connection.fetchval(
            """
            INSERT INTO attachments (channel, message, number, file, name, size, mime, kind, form, role)
            SELECT $1, $2, 1 + coalesce((SELECT max(number) FROM attachments WHERE channel = $1 AND message = $2), 0),
                $3, $4, $5, $6, $7, $8, $9
            WHERE EXISTS (SELECT FROM messages WHERE channel = $1 AND id = $2 AND erased_at IS NULL)
              AND NOT EXISTS (SELECT FROM attachments WHERE channel = $1 AND message = $2 AND file = $3)
            RETURNING message
            """,
            key, message, file.id, file.name, file.size, file.mime, file.kind.value, file.form.value, file.role.value,
        )  # fmt: skip
        if added is not None:
            new.append((message, file))
    return new


async def _save_reactions(connection: Connection, key: ChannelKey, counts: Mapping[MessageId, dict[str, int]]) -> None:
    rows = await connection.fetch(
        """
        UPDATE messages m SET reactions = t.reactions::jsonb, counted_at = clock_now()
        FROM unnest($2::bigint[], $3::text[]) AS t (id, reactions)
        WHERE m.channel = $1 AND m.id = t.id AND m.reactions <> t.reactions::jsonb AND m.erased_at IS NULL
        RETURNING m.id
        """,
        key, list(counts), [json_text(one) for one in counts.values()],
    )  # fmt: skip
    mark_messages(connection, key, (row["id"] for row in rows))


async def _save_counts(connection: Connection, key: ChannelKey, counts: Mapping[MessageId, Mapping[str, Any]]) -> None:
    rows = await connection.fetch(
        """
        UPDATE messages m SET counts = coalesce(m.counts, '{}') || t.counts::jsonb, counted_at = clock_now()
        FROM unnest($2::bigint[], $3::text[]) AS t (id, counts)
        WHERE m.channel = $1 AND m.id = t.id AND NOT coalesce(m.counts, '{}') @> t.counts::jsonb
          AND m.erased_at IS NULL
        RETURNING m.id
        """,
        key, list(counts), [json_text(one) for one in counts.values()],
    )  # fmt: skip
    mark_messages(connection, key, (row["id"] for row in rows))


def after_reaction(counts: Mapping[str, int], one: Reacted) -> dict[str, int]:
    """How often each emoji was used after one more reaction; a count never falls below zero."""
    if one.emoji is None:
        return {}
    left = 0 if one.change == 0 else max(0, counts.get(one.emoji, 0) + one.change)
    others = {emoji: count for emoji, count in counts.items() if emoji != one.emoji}
    return {**others, one.emoji: left} if left else others


def after_vote(counts: MessageCounts, one: Voted) -> MessageCounts:
    """The numbers of a poll after one more vote; a count never falls below zero."""
    votes = dict(counts.votes or {})
    votes[one.answer] = max(0, votes.get(one.answer, 0) + one.change)
    return replace(counts, votes=votes)


def _merged(raw: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """What the platform sent earlier, updated with the new; the originals belong to the earlier text."""
    both = {**raw, **more}
    return {name: value for name, value in both.items() if value is not None and name != ORIGINALS}


_KINDS = frozenset(one.value for one in MessageKind)


def _message(row: asyncpg.Record, files: Sequence[File]) -> Message:
    """A row as a message; one that a later version stored, and this one cannot read whole, is partial."""
    return from_row(
        Message,
        row,
        files=[one for one in files if one.role is FileRole.OWN],
        further_files=tuple(one for one in files if one.role is not FileRole.OWN),
        reactions=[Reaction(emoji, count) for emoji, count in row["reactions"].items()],
        kind=known_or(MessageKind, row["kind"], MessageKind.TEXT),
        content=read_content(row["content"]),
        counts=read_counts(row["counts"]),
        raw=unpack(row["raw"]) if row["raw"] is not None else row["extra"] or {},
        person=None,
        is_partial=row["kind"] not in _KINDS or not is_readable(row["raw"]),
    )


def _further(stored: Sequence[File], changed: Mapping[FileRole, Sequence[File]]) -> tuple[File, ...]:
    """The files in other places of a message, those of *changed* places replaced."""
    return (*(one for one in stored if one.role not in changed), *(one for some in changed.values() for one in some))


def _file(row: asyncpg.Record) -> File:
    form, kind = known_or(FileForm, row["form"], FileForm.FILE), known_or(FileKind, row["kind"], FileKind.DOCUMENT)
    role = known_or(FileRole, row["role"], FileRole.OWN)
    return File(FileId(row["file"]), row["name"], row["size"], row["mime"], kind, FileHandle(""), form=form, role=role)
