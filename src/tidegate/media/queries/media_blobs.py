"""Bytes in the store: which there are, which files use them, and which the operator has blocked."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from tidegate.core.ids import Sha256
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row


@dataclass(frozen=True, slots=True)
class MediaBlob:
    """Bytes that are kept, of how many files they are, and since when they are missing."""

    sha256: Sha256
    size: int
    type: str
    missing_at: datetime | None
    files: int = 0


@dataclass(frozen=True, slots=True)
class StoredTotal:
    """How much the store holds in all."""

    files: int
    bytes: int


async def stored_total(connection: Connection) -> StoredTotal:
    """The sum of all bytes with a row, each counted once."""
    row = await connection.fetchrow("SELECT sum(files)::bigint AS files, sum(bytes)::bigint AS bytes FROM media_stored")
    assert row is not None
    return from_row(StoredTotal, row)


async def page(connection: Connection, after: Sha256 | None, *, most: int) -> list[MediaBlob]:
    """Bytes in the order of their digests, from *after* on."""
    rows = await connection.fetch(
        """
        SELECT sha256, size, type, missing_at FROM media_blobs WHERE sha256 > coalesce($1, ''::bytea)
        ORDER BY sha256 LIMIT $2
        """,
        after, most,
    )  # fmt: skip
    return [from_row(MediaBlob, row) for row in rows]


async def find(connection: Connection, sha256: Sha256) -> MediaBlob | None:
    """Bytes by their digest."""
    row = await connection.fetchrow(
        """
        SELECT sha256, size, type, missing_at,
            (SELECT count(*) FROM media_files f WHERE f.sha256 = b.sha256 OR f.thumbnail = b.sha256) AS files
        FROM media_blobs b WHERE sha256 = $1
        """,
        sha256,
    )
    return None if row is None else from_row(MediaBlob, row)


async def known(connection: Connection, digests: Collection[Sha256]) -> set[Sha256]:
    """Which of these bytes have a row."""
    rows = await connection.fetch("SELECT sha256 FROM media_blobs WHERE sha256 = ANY($1)", list(digests))
    return {Sha256(row["sha256"]) for row in rows}


async def note_missing(connection: Connection, digests: Collection[Sha256], *, refetch: bool) -> int:
    """Bytes are not in the store, or are others; with *refetch* their files are wanted again, where a channel has them.

    Returns how many files are.
    """
    await connection.execute(
        "UPDATE media_blobs SET missing_at = clock_now() WHERE sha256 = ANY($1) AND missing_at IS NULL", list(digests)
    )
    if not refetch:
        return 0
    rows = await connection.fetch(
        """
        UPDATE media_files
        SET state = 'wanted', reason = '', sha256 = NULL, attempts = 0, next_try_at = NULL, changed_at = clock_now()
        WHERE sha256 = ANY($1) AND state = 'kept' AND channel IS NOT NULL
        RETURNING file
        """,
        list(digests),
    )
    # A thumbnail of a kept picture is drawn again. Of a file with nothing else, and of a video, it is fetched again.
    small = await connection.fetch(
        """
        UPDATE media_files
        SET thumbnail = NULL, changed_at = clock_now(),
            state = CASE WHEN channel IS NOT NULL
                              AND (reason = 'thumbnail' OR state = 'kept' AND type NOT LIKE 'image/%')
                         THEN 'wanted' ELSE state END,
            reason = CASE WHEN reason = 'thumbnail' AND channel IS NOT NULL THEN '' ELSE reason END
        WHERE thumbnail = ANY($1)
        RETURNING state = 'wanted' AS wanted
        """,
        list(digests),
    )
    return len(rows) + len([row for row in small if row["wanted"]])


async def note_found(connection: Connection, digests: Collection[Sha256]) -> None:
    """Bytes are in the store again."""
    await connection.execute(
        "UPDATE media_blobs SET missing_at = NULL WHERE sha256 = ANY($1) AND missing_at IS NOT NULL", list(digests)
    )


async def remove(connection: Connection, sha256: Sha256, *, block: bool) -> int | None:
    """Forget bytes: no file has them any more, and with *block* they are never kept again.

    Returns how many files had them; None where nobody knows them. The caller deletes the bytes after the commit: a kill
    in between leaves bytes without a row, which a sweep finds.
    """
    if block:
        await connection.execute("INSERT INTO media_blocks (sha256) VALUES ($1) ON CONFLICT DO NOTHING", sha256)
    rows = await connection.fetch(
        """
        UPDATE media_files
        SET state = CASE WHEN sha256 = $1 OR state = 'wanted' THEN 'skipped' ELSE state END,
            reason = CASE WHEN sha256 = $1 OR state = 'wanted' THEN $2 ELSE reason END,
            thumbnail = CASE WHEN sha256 = $1 THEN NULL ELSE nullif(thumbnail, $1) END, -- drawn of these bytes
            sha256 = nullif(sha256, $1), next_try_at = NULL,
            changed_at = clock_now()
        WHERE sha256 = $1 OR thumbnail = $1
        RETURNING file
        """,
        sha256, "blocked" if block else "removed",
    )  # fmt: skip
    known = await connection.fetchval("DELETE FROM media_blobs WHERE sha256 = $1 RETURNING sha256", sha256)
    return None if known is None and not rows else len(rows)


async def renew(connection: Connection, sha256: Sha256) -> None:
    """Bytes are about to be used again: a sweep leaves them alone. Waits for one that is deleting them just now."""
    await connection.execute("UPDATE media_blobs SET kept_at = clock_now() WHERE sha256 = $1", sha256)


@dataclass(frozen=True, slots=True)
class StoredSize:
    """Bytes by their digest, and how many they are."""

    sha256: Sha256
    size: int


_UNUSED = """
    b.kept_at < $1
    AND NOT EXISTS (SELECT FROM media_files f WHERE f.sha256 = b.sha256)
    AND NOT EXISTS (SELECT FROM media_files f WHERE f.thumbnail = b.sha256)
"""


@dataclass(frozen=True, slots=True)
class UnusedPage:
    """Of some bytes in the order of their digests, those that no file has any more; *last* is None at the end."""

    unused: list[Sha256]
    last: Sha256 | None


async def unused(connection: Connection, before: datetime, *, after: Sha256 | None = None, most: int) -> UnusedPage:
    """Look at the next *most* bytes for such as no file has any more, and that are older than *before*."""
    # The page is a step of its own, so that a look at all rows is never planned for one.
    rows = await connection.fetch(
        f"""
        WITH b AS MATERIALIZED (
            SELECT sha256, kept_at FROM media_blobs WHERE sha256 > coalesce($2, ''::bytea) ORDER BY sha256 LIMIT $3
        )
        SELECT b.sha256, {_UNUSED} AS unused FROM b ORDER BY b.sha256
        """,
        before, after, most,
    )  # fmt: skip
    last = Sha256(rows[-1]["sha256"]) if len(rows) == most else None
    return UnusedPage([Sha256(row["sha256"]) for row in rows if row["unused"]], last)


async def drop_unused(connection: Connection, digests: Collection[Sha256], before: datetime) -> list[StoredSize]:
    """Forget such bytes, and say which they were. The caller deletes them in the same transaction.

    Their sums are locked in one order, so that sweeps of two workers never wait for each other in a circle.
    """
    await connection.execute(
        "SELECT FROM media_stored WHERE shard = ANY($1) ORDER BY shard FOR UPDATE", sorted({one[0] for one in digests})
    )
    rows = await connection.fetch(
        f"DELETE FROM media_blobs b WHERE sha256 = ANY($2) AND {_UNUSED} RETURNING sha256, size", before, list(digests)
    )
    return [from_row(StoredSize, row) for row in rows]
