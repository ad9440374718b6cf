"""How many files there are, by channel, kind and state, and the list of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from tidegate.core.ids import AccountId, ChannelId, ChannelKey, FileId, MessageId
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row


@dataclass(frozen=True, slots=True)
class MediaTotal:
    """Files of one kind in one state, of one channel or of all."""

    kind: str
    state: str
    files: int
    bytes: int


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


async def totals(
    connection: Connection, *, channel: ChannelKey | None = None, account: AccountId | None = None
) -> list[MediaTotal]:
    """The sums of a channel, of an account's channels, or of all."""
    rows = await connection.fetch(
        """
        SELECT t.kind, t.state, sum(t.files)::bigint AS files, sum(t.bytes)::bigint AS bytes FROM media_totals t
        WHERE ($1::bigint IS NULL OR t.channel = $1)
          AND ($2::bigint IS NULL OR EXISTS (SELECT FROM channels c WHERE c.id = t.channel AND c.reader = $2))
        GROUP BY t.kind, t.state HAVING sum(t.files) > 0 ORDER BY t.kind, t.state
        """,
        channel, account,
    )  # fmt: skip
    return [from_row(MediaTotal, row) for row in rows]


async def kept_bytes(connection: Connection, channel: ChannelKey) -> int:
    """How many bytes are kept of a channel."""
    number: int = await connection.fetchval(
        "SELECT coalesce(sum(bytes), 0)::bigint FROM media_totals WHERE channel = $1 AND state = 'kept'", channel
    )
    return number


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
