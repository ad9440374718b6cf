"""Preview pictures of archives: which are still to be found, what was found, and the pictures themselves."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from tidegate.port import ChannelId
from tidegate.rules.history import Span
from tidegate.rules.previewing import MOST_TRIES, Photo, Subject
from tidegate.store import feed
from tidegate.store.database import Connection
from tidegate.words import AccountId

_WHOLE = ("waiting", "working", "filed", "failed", "given_up")
"""A set that is still being collected may yet turn out to begin elsewhere."""


@dataclass(frozen=True, slots=True)
class Gallery:
    """The sets of one channel that have no picture yet; *key* is our number of it, *newest* its newest message seen."""

    key: int
    channel: ChannelId
    newest: int
    subjects: Sequence[Subject]


@dataclass(frozen=True, slots=True)
class Preview:
    """What is known of an archive's preview. *looking*: the answer is not final."""

    looking: bool
    message: int | None
    mime: str | None
    size: int | None
    trouble: str


async def wanted(connection: Connection, account: AccountId, *, most: int) -> list[Gallery]:
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
        account, list(_WHOLE), most,
    )  # fmt: skip
    found: dict[int, list[Subject]] = {}
    for row in rows:
        subject = Subject(row["id"], row["message"], row["at"], row["sender"], row["topic"], frozenset(row["albums"]))
        found.setdefault(row["key"], []).append(subject)
    about = {row["key"]: (ChannelId(row["number"]), row["newest_seen"]) for row in rows}
    return [Gallery(key, *about[key], subjects) for key, subjects in found.items()]


async def photos(connection: Connection, key: int, spans: Collection[Span]) -> list[Photo]:
    """The photos of a channel that are known in these stretches, without those deleted since."""
    rows = await connection.fetch(
        """
        SELECT m.id, m.at, m.author, coalesce(m.topic, 0) AS topic, m.album
        FROM unnest($2::bigint[], $3::bigint[]) AS w (low, high)
        JOIN messages m ON m.channel = $1 AND m.id BETWEEN w.low AND w.high
        WHERE m.deleted_at IS NULL AND EXISTS (
            SELECT FROM attachments a WHERE a.channel = $1 AND a.message = m.id AND a.kind = 'photo'
        )
        """,
        key, [span.low for span in spans], [span.high for span in spans],
    )  # fmt: skip
    return [Photo(row["id"], row["at"], row["author"], row["topic"], row["album"]) for row in rows]


async def settle(connection: Connection, archives: Collection[int]) -> None:
    """No photo was posted with these: nothing is looked for any more."""
    await connection.execute("UPDATE archives SET preview_due = false WHERE id = ANY($1)", list(archives))


async def keep(connection: Connection, archive: int, message: int, content: bytes, mime: str) -> None:
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
    told = {"archive": archive, "message": message, "size": len(content), "type": mime}
    await feed.record(connection, "archive.previewed", row["name"] if row else "", told)


async def note_trouble(connection: Connection, archive: int, message: int | None, trouble: str, *, final: bool) -> None:
    """A picture could not be had, or not even looked for; it is tried a few times, unless the answer was *final*."""
    tries: int = await connection.fetchval(
        """
        INSERT INTO previews AS p (archive, message, tries, trouble) VALUES ($1, $2, 1, $3)
        ON CONFLICT (archive) DO UPDATE
        SET message = excluded.message, tries = p.tries + 1, trouble = excluded.trouble
        RETURNING tries
        """,
        archive, message, trouble,
    )  # fmt: skip
    if final or tries >= MOST_TRIES:
        await settle(connection, [archive])


async def of_archive(connection: Connection, archive: int) -> Preview:
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


async def content_of(connection: Connection, archive: int) -> bytes | None:
    """An archive's picture; None when there is none."""
    found: bytes | None = await connection.fetchval(
        "SELECT p.content FROM previews v JOIN pictures p ON p.hash = v.picture WHERE v.archive = $1", archive
    )
    return found


async def prune(connection: Connection, before: datetime, *, limit: int) -> int:
    """Remove up to *limit* pictures that no archive shows any more; one kept since then is somebody's in a moment."""
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
    return int(done.removeprefix("DELETE "))
