"""The operator's files: stored once by their content, for as long as a reminder or a run needs them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from tidegate.database.pool import Connection

PIECE = 512 * 1024
"""The size of the pieces in which a file is stored, and which platforms take."""

PIECES_AT_ONCE = 10
"""How many pieces are read in one query: all of a 5 MB picture, but never all of a film."""


@dataclass(frozen=True, slots=True)
class KeptFile:
    """What is known of a file without reading it."""

    sha256: bytes
    size: int  # in bytes
    mime: str


async def keep(connection: Connection, sha256: bytes, content: bytes, mime: str) -> KeptFile:
    """Store a file, unless one with that content is stored; call inside a transaction."""
    added = await connection.fetchval(
        "INSERT INTO media (sha256, size, mime) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING true",
        sha256, len(content), mime,
    )  # fmt: skip
    if added:
        pieces = [content[start : start + PIECE] for start in range(0, len(content), PIECE)]
        await connection.executemany(
            "INSERT INTO media_pieces (sha256, number, content) VALUES ($1, $2, $3)",
            [(sha256, number, piece) for number, piece in enumerate(pieces)],
        )
    return KeptFile(sha256, len(content), mime)


async def known(connection: Connection, files: Collection[bytes]) -> dict[bytes, KeptFile]:
    """Those of these files that are stored."""
    rows = await connection.fetch("SELECT sha256, size, mime FROM media WHERE sha256 = ANY($1)", list(files))
    return {row["sha256"]: KeptFile(**dict(row)) for row in rows}


async def pieces(connection: Connection, sha256: bytes, first: int) -> list[bytes]:
    """The next pieces of a file from *first* on, counted from 0; as many as are read at once."""
    rows = await connection.fetch(
        "SELECT content FROM media_pieces WHERE sha256 = $1 AND number >= $2 ORDER BY number LIMIT $3",
        sha256, first, PIECES_AT_ONCE,
    )  # fmt: skip
    return [row["content"] for row in rows]


async def content(connection: Connection, sha256: bytes) -> bytes:
    """All of a file."""
    rows = await connection.fetch("SELECT content FROM media_pieces WHERE sha256 = $1 ORDER BY number", sha256)
    return b"".join(row["content"] for row in rows)


async def prune(connection: Connection, before: datetime, *, limit: int) -> int:
    """Delete up to *limit* files that were stored before that instant and that nothing refers to."""
    removed = await connection.fetch(
        """
        DELETE FROM media
        WHERE sha256 IN (
            SELECT sha256 FROM media m
            WHERE kept_at < $1
              AND NOT EXISTS (SELECT FROM reminder_media r WHERE r.sha256 = m.sha256)
              AND NOT EXISTS (SELECT FROM run_parts p WHERE p.media = m.sha256)
            LIMIT $2
        )
        RETURNING 1
        """,
        before, limit,
    )  # fmt: skip
    return len(removed)
