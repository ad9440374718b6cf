"""Messages of mirrored channels, each stored once; a deleted one stays, with the instant it was noticed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tidegate.port import File, Message, MessageId
from tidegate.store.database import Connection


@dataclass(frozen=True, slots=True)
class Stored:
    """Which messages of a page were new to us, and which of the known ones had changed."""

    added: frozenset[MessageId]
    changed: frozenset[MessageId]


# Only what changed is written: pages overlap, and a row that is written again for nothing costs as much as a new one.
# A tombstone stays: on the platform a message's number is never given again.
_UPSERT = """
    INSERT INTO messages AS m (channel, id, topic, at, author, text, reply_to, album, edited_at,
                               file, file_name, file_size, file_kind)
    SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::timestamptz[], $5::text[], $6::text[], $7::bigint[],
                             $8::bigint[], $9::timestamptz[], $10::bigint[], $11::text[], $12::bigint[], $13::text[])
    ON CONFLICT (channel, id) DO UPDATE
    SET topic = excluded.topic, author = excluded.author, text = excluded.text, edited_at = excluded.edited_at,
        file = excluded.file, file_name = excluded.file_name, file_size = excluded.file_size,
        file_kind = excluded.file_kind
    WHERE m.deleted_at IS NULL
      AND (m.topic, m.author, m.text, m.edited_at, m.file, m.file_name, m.file_size, m.file_kind)
          IS DISTINCT FROM (excluded.topic, excluded.author, excluded.text, excluded.edited_at, excluded.file,
                            excluded.file_name, excluded.file_size, excluded.file_kind)
      AND coalesce(m.edited_at, '-infinity') <= coalesce(excluded.edited_at, '-infinity')
    RETURNING id, xmax = 0 AS added
"""


async def store(connection: Connection, key: int, messages: Sequence[Message]) -> Stored:
    """Store a page's messages; the newest version of one wins, whichever page brings it."""
    latest = {message.id: message for message in messages}
    rows = list(latest.values())
    files: list[File | None] = [message.files[0] if message.files else None for message in rows]
    written = await connection.fetch(
        _UPSERT,
        key,
        [row.id for row in rows],
        [row.topic for row in rows],
        [row.at for row in rows],
        [_clean(row.author) for row in rows],
        [_clean(row.text) for row in rows],
        [row.reply_to for row in rows],
        [row.album for row in rows],
        [row.edited_at for row in rows],
        [file.id if file else None for file in files],
        [_clean(file.name) if file else None for file in files],
        [file.size if file else None for file in files],
        [file.kind.value if file else None for file in files],
    )
    added = frozenset(MessageId(row["id"]) for row in written if row["added"])
    return Stored(added, frozenset(MessageId(row["id"]) for row in written) - added)


async def bury(connection: Connection, key: int, gone: Collection[MessageId]) -> list[MessageId]:
    """Mark messages as deleted on the platform; returns those that were not marked before."""
    rows = await connection.fetch(
        """
        UPDATE messages SET deleted_at = clock_now()
        WHERE channel = $1 AND id = ANY($2) AND deleted_at IS NULL
        RETURNING id
        """,
        key, list(gone),
    )  # fmt: skip
    return [MessageId(row["id"]) for row in rows]


async def between(connection: Connection, key: int, low: int, high: int) -> list[MessageId]:
    """The messages of a channel that are stored in a stretch, both ends included, and not marked as deleted."""
    rows = await connection.fetch(
        "SELECT id FROM messages WHERE channel = $1 AND id BETWEEN $2 AND $3 AND deleted_at IS NULL", key, low, high
    )
    return [MessageId(row["id"]) for row in rows]


async def count(connection: Connection, key: int) -> int:
    """How many messages of a channel are stored and not deleted."""
    number: int = await connection.fetchval(
        "SELECT count(*) FROM messages WHERE channel = $1 AND deleted_at IS NULL", key
    )
    return number


def _clean(text: str) -> str:
    """PostgreSQL's text holds every character but the one that ends strings elsewhere."""
    return text.replace("\x00", "")
