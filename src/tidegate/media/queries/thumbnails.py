"""Pictures that are kept and have no thumbnail yet."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from tidegate.core.ids import Sha256
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.media.queries.media_files import KeptBytes

# The list of types is that of the index.
_PICTURES = "f.type IN ('image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif')"


@dataclass(frozen=True, slots=True)
class WaitingPicture:
    """Bytes of a picture, perhaps of several files."""

    sha256: Sha256
    size: int
    type: str  # its media type


async def waiting(connection: Connection, after: Sha256, *, most: int) -> list[WaitingPicture]:
    """Pictures without a thumbnail in the order of their digests, from *after* on."""
    rows = await connection.fetch(
        f"""
        SELECT DISTINCT f.sha256, b.size, b.type FROM media_files f JOIN media_blobs b ON b.sha256 = f.sha256
        WHERE f.state = 'kept' AND f.thumbnail IS NULL AND {_PICTURES} AND f.sha256 > $1
          AND b.no_thumbnail IS NULL AND b.missing_at IS NULL AND coalesce(b.drawing_until <= clock_now(), true)
        ORDER BY f.sha256 LIMIT $2
        """,
        after, most,
    )  # fmt: skip
    return [from_row(WaitingPicture, row) for row in rows]


CLAIMED_FOR = timedelta(minutes=1)
"""Longer than the drawing of one picture may take: after it, the worker that began is taken for dead."""


async def claim(connection: Connection, sha256: Sha256) -> bool:
    """Whether this worker may draw the thumbnail of these bytes; no other draws it meanwhile."""
    claimed = await connection.fetchval(
        """
        UPDATE media_blobs SET drawing_until = clock_now() + $2
        WHERE sha256 = $1 AND coalesce(drawing_until <= clock_now(), true)
          AND EXISTS (SELECT FROM media_files WHERE sha256 = $1 AND thumbnail IS NULL)
        RETURNING sha256
        """,
        sha256, CLAIMED_FOR,
    )  # fmt: skip
    return claimed is not None


async def give_back(connection: Connection, sha256: Sha256) -> None:
    """No worker draws the thumbnail of these bytes any more."""
    await connection.execute("UPDATE media_blobs SET drawing_until = NULL WHERE sha256 = $1", sha256)


async def drawn(connection: Connection, of: Sha256, made: KeptBytes) -> bool:
    """A thumbnail is in the store: every file with these bytes gets it. False where its content is blocked."""
    blocked = await connection.fetchval("SELECT EXISTS (SELECT FROM media_blocks WHERE sha256 = $1)", made.sha256)
    if blocked:
        await refuse(connection, of, "The operator blocked its content.")
        return False
    await connection.execute(
        """
        INSERT INTO media_blobs (sha256, size, type) VALUES ($1, $2, $3)
        ON CONFLICT (sha256) DO UPDATE SET missing_at = NULL, kept_at = clock_now()
        """,
        made.sha256, made.size, made.type,
    )  # fmt: skip
    await connection.execute(
        "UPDATE media_files SET thumbnail = $2 WHERE sha256 = $1 AND thumbnail IS NULL", of, made.sha256
    )
    await give_back(connection, of)
    return True


async def refuse(connection: Connection, of: Sha256, sentence: str) -> None:
    """No thumbnail can be made of these bytes, now or later."""
    await connection.execute("UPDATE media_blobs SET no_thumbnail = $2 WHERE sha256 = $1", of, sentence)
