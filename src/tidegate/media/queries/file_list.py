"""The list of files with their states."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from tidegate.core.ids import ChannelId, ChannelKey, FileId, MessageId
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file as it is listed; the digest in hexadecimal."""

    file: FileId
    name: str
    state: str
    reason: str
    title: str
    channel: ChannelId | None
    message: MessageId | None
    kind: str
    platform: str
    type: str
    size: int
    sha256: str | None
    next_try_at: datetime | None
    attempts: int


async def listing(
    connection: Connection,
    *,
    channel: ChannelKey | None,
    states: Collection[str],
    kinds: Collection[str],
    most: int,
) -> list[ListedFile]:
    """Files, those of the newest messages first; no states or kinds are all of them."""
    rows = await connection.fetch(
        """
        SELECT f.platform, f.file, c.number AS channel, coalesce(c.title, '') AS title, f.message, f.kind, f.size,
            f.state, f.reason, f.attempts, f.next_try_at, encode(f.sha256, 'hex') AS sha256, f.type,
            coalesce((SELECT a.name FROM attachments a
                      WHERE a.channel = f.channel AND a.message = f.message AND a.file = f.file LIMIT 1), '') AS name
        FROM media_files f LEFT JOIN channels c ON c.id = f.channel
        WHERE ($1::bigint IS NULL OR f.channel = $1)
          AND (cardinality($2::text[]) = 0 OR f.state = ANY($2)) AND (cardinality($3::text[]) = 0 OR f.kind = ANY($3))
        ORDER BY f.channel DESC NULLS LAST, f.message DESC, f.file LIMIT $4
        """,
        channel, list(states), list(kinds), most,
    )  # fmt: skip
    return [from_row(ListedFile, row) for row in rows]
