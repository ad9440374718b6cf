"""Messages of mirrored channels, each stored once; a deleted one stays, with the instant it was noticed.

Earlier texts of an edited message are kept as revisions by the database itself, whatever changes the text.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from tidegate.port import Message, MessageId
from tidegate.rules.finding import FILE_TAG, author_tags, vector
from tidegate.store.database import Connection

_ONE_AT_A_TIME = 0x7467_6D73  # "tgms": a message and its deletion, each unseen by the other, would both be kept


@dataclass(frozen=True, slots=True)
class Stored:
    """Which messages of a page were new to us, and which of the known ones had changed or came back.

    Neither names one that was deleted before it came, which is stored as deleted.
    """

    added: frozenset[MessageId] = frozenset()
    changed: frozenset[MessageId] = frozenset()

    def __or__(self, later: Stored) -> Stored:
        return Stored(self.added | later.added, self.changed | later.changed)


# Only what changed is written: pages overlap, and a row that is written again for nothing costs as much as a new one.
# A version that is blank although nobody edited it is one the account was not let see, and changes nothing. A
# tombstone is lifted only by a page that was asked for after the deletion ($18); news lifts none.
_UPSERT = """
    INSERT INTO messages AS m (channel, id, topic, at, author, author_id, automatic, service, text, reply_to, album,
                               thread, edited_at, reactions, extra, files, words, deleted_at)
    SELECT $1, g.id, g.topic, g.at, g.author, g.author_id, g.automatic, g.service, g.text, g.reply_to, g.album,
        g.thread, g.edited_at, g.reactions::jsonb, g.extra::jsonb, g.files::bigint[], g.words::tsvector, d.deleted_at
    FROM unnest($2::bigint[], $3::bigint[], $4::timestamptz[], $5::text[], $6::bigint[], $7::boolean[], $8::text[],
                $9::text[], $10::bigint[], $11::bigint[], $12::bigint[], $13::timestamptz[], $14::text[], $15::text[],
                $16::text[], $17::text[])
        AS g (id, topic, at, author, author_id, automatic, service, text, reply_to, album, thread, edited_at,
              reactions, extra, files, words)
    LEFT JOIN early_deletions d
        ON d.channel = $1 AND d.message = g.id AND ($18::timestamptz IS NULL OR d.deleted_at >= $18)
    ORDER BY g.id
    ON CONFLICT (channel, id) DO UPDATE
    SET topic = excluded.topic, author = excluded.author, author_id = excluded.author_id,
        automatic = excluded.automatic, service = excluded.service, text = excluded.text,
        reply_to = excluded.reply_to, thread = excluded.thread, edited_at = excluded.edited_at,
        reactions = excluded.reactions, extra = excluded.extra, files = excluded.files, words = excluded.words,
        deleted_at = NULL
    WHERE (m.deleted_at IS NULL OR m.deleted_at < $18)
      AND (m.deleted_at IS NOT NULL
           OR (m.topic, m.author, m.author_id, m.text, m.thread, m.edited_at, m.reactions, m.extra, m.files)
              IS DISTINCT FROM (excluded.topic, excluded.author, excluded.author_id, excluded.text, excluded.thread,
                                excluded.edited_at, excluded.reactions, excluded.extra, excluded.files))
      AND coalesce(m.edited_at, '-infinity') <= coalesce(excluded.edited_at, '-infinity')
      AND NOT (excluded.text = '' AND excluded.files = '{}' AND (m.text <> '' OR m.files <> '{}')
               AND m.edited_at IS NOT DISTINCT FROM excluded.edited_at)
    RETURNING id, xmax = 0 AS added, deleted_at IS NOT NULL AS deleted
"""


async def store(
    connection: Connection, key: int, messages: Sequence[Message], *, asked_at: datetime | None = None
) -> Stored:
    """Store messages; the newest version of one wins, whichever page brings it, and leaves the earlier text on record.

    *asked_at* is the database's instant before the page was asked for, or None for what the platform told by itself.
    """
    await hold(connection, key)
    stored = Stored()
    for versions in _rounds(messages):
        stored |= await _store(connection, key, versions, asked_at)
    return stored


def _rounds(messages: Iterable[Message]) -> list[list[Message]]:
    """Versions of one message apart, in their order, so that each earlier one is kept as a revision."""
    rounds: list[list[Message]] = []
    seen: Counter[MessageId] = Counter()
    for message in messages:
        if seen[message.id] == len(rounds):
            rounds.append([])
        rounds[seen[message.id]].append(message)
        seen[message.id] += 1
    return rounds


async def _store(connection: Connection, key: int, rows: Sequence[Message], asked_at: datetime | None) -> Stored:
    written = await connection.fetch(
        _UPSERT,
        key,
        [row.id for row in rows],
        [row.topic for row in rows],
        [row.at for row in rows],
        [_clean(row.author) for row in rows],
        [row.author_id for row in rows],
        [row.automatic for row in rows],
        [row.service for row in rows],
        [_clean(row.text) for row in rows],
        [row.reply_to for row in rows],
        [row.album for row in rows],
        [row.thread for row in rows],
        [row.edited_at for row in rows],
        [_reactions(row) for row in rows],
        [_clean_json(row.extra) for row in rows],
        [f"{{{','.join(str(file.id) for file in row.files)}}}" for row in rows],
        [_words(row) for row in rows],
        asked_at,
    )
    await _attach(connection, key, {row.id: row for row in rows}, written)
    added = frozenset(MessageId(row["id"]) for row in written if row["added"] and not row["deleted"])
    return Stored(added, frozenset(MessageId(row["id"]) for row in written if not row["added"]))


async def _attach(
    connection: Connection, key: int, rows: Mapping[MessageId, Message], written: Sequence[asyncpg.Record]
) -> None:
    """The files of what was written, in place of those it had."""
    known = [row["id"] for row in written if not row["added"]]
    if known:
        await connection.execute("DELETE FROM attachments WHERE channel = $1 AND message = ANY($2)", key, known)
    files = [
        (row["id"], number, file)
        for row in written
        for number, file in enumerate(rows[MessageId(row["id"])].files, start=1)
    ]
    if files:
        await connection.execute(
            """
            INSERT INTO attachments (channel, message, number, file, name, size, mime, kind)
            SELECT $1, * FROM unnest($2::bigint[], $3::integer[], $4::bigint[], $5::text[], $6::bigint[], $7::text[],
                                     $8::text[])
            """,
            key, [message for message, _, _ in files], [number for _, number, _ in files],
            [file.id for _, _, file in files], [_clean(file.name) for _, _, file in files],
            [file.size for _, _, file in files], [_clean(file.mime) for _, _, file in files],
            [file.kind.value for _, _, file in files],
        )  # fmt: skip


async def bury(connection: Connection, key: int, gone: Collection[MessageId]) -> list[MessageId]:
    """Mark messages as deleted on the platform; returns those that were stored and not marked before.

    One that is not stored yet is remembered: should it come late, it is deleted all the same.
    """
    if not gone:
        return []
    await hold(connection, key)
    rows = await connection.fetch(
        """
        UPDATE messages SET deleted_at = clock_now()
        WHERE channel = $1 AND id = ANY($2) AND deleted_at IS NULL
        RETURNING id
        """,
        key, list(gone),
    )  # fmt: skip
    if len(rows) < len(gone):
        await connection.execute(
            """
            INSERT INTO early_deletions (channel, message)
            SELECT $1, n FROM unnest($2::bigint[]) AS n
            WHERE NOT EXISTS (SELECT FROM messages m WHERE m.channel = $1 AND m.id = n)
            ON CONFLICT DO NOTHING
            """,
            key, list(gone),
        )  # fmt: skip
    return [MessageId(row["id"]) for row in rows]


async def prune_early_deletions(connection: Connection, before: datetime, *, limit: int) -> int:
    """Forget up to *limit* deletions of messages that never came; no page of so long ago is still on its way."""
    done: str = await connection.execute(
        """
        DELETE FROM early_deletions WHERE (channel, message) IN (
            SELECT channel, message FROM early_deletions WHERE deleted_at < $1 ORDER BY deleted_at LIMIT $2
        )
        """,
        before, limit,
    )  # fmt: skip
    return int(done.removeprefix("DELETE "))


async def between(connection: Connection, key: int, low: int, high: int) -> list[MessageId]:
    """The messages of a channel that are stored in a stretch, both ends included, and not marked as deleted."""
    rows = await connection.fetch(
        "SELECT id FROM messages WHERE channel = $1 AND id BETWEEN $2 AND $3 AND deleted_at IS NULL", key, low, high
    )
    return [MessageId(row["id"]) for row in rows]


async def above(connection: Connection, key: int, number: int) -> list[MessageId]:
    """The messages of a channel that are stored above a number and not marked as deleted."""
    rows = await connection.fetch(
        "SELECT id FROM messages WHERE channel = $1 AND id > $2 AND deleted_at IS NULL", key, number
    )
    return [MessageId(row["id"]) for row in rows]


async def count(connection: Connection, key: int) -> int:
    """How many messages of a channel are stored and not deleted."""
    number: int = await connection.fetchval(
        "SELECT count(*) FROM messages WHERE channel = $1 AND deleted_at IS NULL", key
    )
    return number


async def hold(connection: Connection, key: int) -> None:
    """One writer of a channel's messages at a time, until its transaction ends."""
    await connection.execute("SELECT pg_advisory_xact_lock($1, $2)", _ONE_AT_A_TIME, key)


# What is written in place of what came


def _words(message: Message) -> str:
    tags = author_tags(message.author, message.author_id)
    texts = [message.text, *(file.name for file in message.files)]
    return _clean(vector(texts, [*tags, FILE_TAG] if message.files else tags))


def _reactions(message: Message) -> str:
    return json.dumps({_clean(one.emoji): one.count for one in message.reactions})


def _clean_json(extra: str) -> str | None:
    """A platform's JSON without the one character that PostgreSQL cannot hold; None when there is nothing."""
    if "\\u0000" not in extra:
        return extra or None
    return json.dumps(_without_nul(json.loads(extra)))


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, list):
        return [_without_nul(one) for one in value]
    if isinstance(value, dict):
        return {_clean(name): _without_nul(one) for name, one in value.items()}
    return value


def _clean(text: str) -> str:
    """PostgreSQL's text holds every character but the one that ends strings elsewhere."""
    return text.replace("\x00", "")
