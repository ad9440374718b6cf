"""Preview pictures of archives: which are still to be found, what was found, and the pictures themselves."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from tidegate.archives.rules.preview_choice import PreviewPhoto, PreviewSubject
from tidegate.core.ids import AccountId, ArchiveId, ChannelId, ChannelKey, MessageId, Span
from tidegate.database.pool import Connection, rows_deleted
from tidegate.events.kinds.archives import ArchivePreviewed
from tidegate.events.queries import feed

_MOST_TRIES = 3
"""Maximum number of requests for a picture; a set does not need one."""

_COLLECTED = ("waiting", "working", "filed", "failed", "given_up")
"""A set that is still being collected may yet turn out to begin elsewhere."""


@dataclass(frozen=True, slots=True)
class SetsWithoutPreview:
    """The sets of one channel that have no picture yet; *key* is our number of it, *newest* its newest message seen."""

    key: ChannelKey
    channel: ChannelId
    newest: int
    subjects: Sequence[PreviewSubject]


@dataclass(frozen=True, slots=True)
class Preview:
    """What is known of an archive's preview. *looking*: the search has not ended."""

    looking: bool
    message: MessageId | None
    mime: str | None
    size: int | None
    trouble: str


async def wanted(connection: Connection, account: AccountId, *, most: int) -> list[SetsWithoutPreview]:
    """The newest *most* sets of the account's enabled channels whose photo is still to be looked for, by channel."""
    rows = await connection.fetch(
        """
        SELECT n.*, f.message, f.at, f.sender, f.albums
        FROM (
            SELECT a.id, a.topic, c.id AS key, c.number, w.newest_seen
            FROM channels c
            JOIN archives a ON a.channel = c.id AND a.preview_due AND a.state = ANY($2)
            JOIN places w ON w.channel = c.id AND w.topic = 0
            WHERE c.reader = $1 AND c.enabled AND c.state <> 'unreadable'
              AND EXISTS (SELECT FROM archive_parts p WHERE p.archive = a.id AND NOT p.spare)
            ORDER BY a.id DESC LIMIT $3
        ) AS n
        CROSS JOIN LATERAL (
            SELECT min(message) AS message, (array_agg(at ORDER BY message))[1] AS at,
                (array_agg(sender ORDER BY message))[1] AS sender,
                coalesce(array_agg(DISTINCT album) FILTER (WHERE album IS NOT NULL), '{}') AS albums
            FROM archive_parts WHERE archive = n.id AND NOT spare
        ) AS f
        ORDER BY n.id DESC
        """,
        account, list(_COLLECTED), most,
    )  # fmt: skip
    found: dict[ChannelKey, list[PreviewSubject]] = {}
    for row in rows:
        subject = PreviewSubject(
            row["message"], row["at"], row["sender"], row["topic"], row["id"], frozenset(row["albums"])
        )
        found.setdefault(row["key"], []).append(subject)
    about = {row["key"]: (ChannelId(row["number"]), row["newest_seen"]) for row in rows}
    return [SetsWithoutPreview(key, *about[key], subjects) for key, subjects in found.items()]


async def photos(connection: Connection, key: ChannelKey, spans: Collection[Span]) -> list[PreviewPhoto]:
    """The photos of a channel that are known in these stretches, without those deleted since."""
    rows = await connection.fetch(
        """
        SELECT m.id, m.at, m.author, coalesce(m.topic, 0) AS topic, m.album
        FROM unnest($2::bigint[], $3::bigint[]) AS w (low, high)
        JOIN messages m ON m.channel = $1 AND m.id BETWEEN w.low AND w.high
        WHERE m.deleted_at IS NULL AND EXISTS (
            SELECT FROM attachments a WHERE a.channel = $1 AND a.message = m.id AND a.kind = 'photo' AND a.role = 'own'
        )
        """,
        key, [span.low for span in spans], [span.high for span in spans],
    )  # fmt: skip
    return [PreviewPhoto(row["id"], row["at"], row["author"], row["topic"], row["album"]) for row in rows]


async def end_search(connection: Connection, archives: Collection[ArchiveId]) -> None:
    """No photo was posted with these: the search for one ends."""
    await connection.execute("UPDATE archives SET preview_due = false WHERE id = ANY($1)", list(archives))


async def keep(connection: Connection, archive: ArchiveId, message: MessageId, content: bytes, mime: str) -> None:
    """Store an archive's picture, once for all archives that have the same; call inside a transaction."""
    digest = sha256(content).digest()
    await connection.execute(
        """
        INSERT INTO pictures (hash, mime, content) VALUES ($1, $2, $3)
        ON CONFLICT (hash) DO UPDATE SET kept_at = clock_now()
        """,
        digest, mime, content,
    )  # fmt: skip
    await connection.execute(
        """
        INSERT INTO previews (archive, message, picture) VALUES ($1, $2, $3)
        ON CONFLICT (archive) DO UPDATE SET message = excluded.message, picture = excluded.picture, trouble = ''
        """,
        archive, message, digest,
    )  # fmt: skip
    row = await connection.fetchrow("UPDATE archives SET preview_due = false WHERE id = $1 RETURNING name", archive)
    previewed = ArchivePreviewed(archive=archive, message=message, size=len(content), type=mime)
    await feed.record(connection, row["name"] if row else "", previewed)


async def note_trouble(
    connection: Connection, archive: ArchiveId, message: MessageId | None, trouble: str, *, final: bool
) -> None:
    """A picture could not be fetched or searched for; it is retried a few times, unless the answer was *final*."""
    tries: int = await connection.fetchval(
        """
        INSERT INTO previews AS p (archive, message, tries, trouble) VALUES ($1, $2, 1, $3)
        ON CONFLICT (archive) DO UPDATE
        SET message = excluded.message, tries = p.tries + 1, trouble = excluded.trouble
        RETURNING tries
        """,
        archive, message, trouble,
    )  # fmt: skip
    if final or tries >= _MOST_TRIES:
        await end_search(connection, [archive])


async def of_archive(connection: Connection, archive: ArchiveId) -> Preview:
    """What is known of an archive's preview; the archive must exist."""
    row = await connection.fetchrow(
        """
        SELECT a.preview_due, v.message, p.mime, length(p.content) AS size, coalesce(v.trouble, '') AS trouble
        FROM archives a
        LEFT JOIN previews v ON v.archive = a.id
        LEFT JOIN pictures p ON p.hash = v.picture
        WHERE a.id = $1
        """,
        archive,
    )
    assert row is not None
    return Preview(row["preview_due"], row["message"], row["mime"], row["size"], row["trouble"])


async def content_of(connection: Connection, archive: ArchiveId) -> bytes | None:
    """An archive's picture; None when there is none."""
    found: bytes | None = await connection.fetchval(
        "SELECT p.content FROM previews v JOIN pictures p ON p.hash = v.picture WHERE v.archive = $1", archive
    )
    return found


async def prune(connection: Connection, before: datetime, *, limit: int) -> int:
    """Delete up to *limit* pictures that no archive shows; one stored after *before* may be about to be used."""
    done = await connection.execute(
        """
        DELETE FROM pictures WHERE hash IN (
            SELECT hash FROM pictures p
            WHERE kept_at < $1 AND NOT EXISTS (SELECT FROM previews WHERE picture = p.hash)
            LIMIT $2
        ) AND kept_at < $1
        """,
        before, limit,
    )  # fmt: skip
    return rows_deleted(done)
