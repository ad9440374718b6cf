"""Files of messages as they are served and looked through. A file is found by its message, never by its content."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from tidegate.core.ids import ChannelKey, MessageId, Sha256
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.media.rules.media_policy import sentence_of


@dataclass(frozen=True, slots=True)
class ServedBytes:
    """Bytes of the store, with their type by content; *missing* are those that were found to be lost."""

    sha256: Sha256
    size: int
    type: str
    missing: bool


@dataclass(frozen=True, slots=True)
class ServedFile:
    """A file at its place in a message, with what is kept of it. *reason* is the sentence why it is not.

    *text* is what was written with it, or with another message of its album.
    """

    message: MessageId
    number: int
    form: str
    role: str
    name: str
    size: int
    state: str
    reason: str
    author: str
    text: str
    at: datetime
    deleted: bool
    whole: ServedBytes | None
    thumbnail: ServedBytes | None


_FILES = """
    SELECT a.message, a.number, a.name, a.size, a.form, a.role, m.author, m.at,
        CASE WHEN m.text = '' AND m.album IS NOT NULL THEN coalesce((
            SELECT x.text FROM messages x
            WHERE x.channel = m.channel AND x.id BETWEEN m.id - 20 AND m.id + 20 AND x.album = m.album AND x.text <> ''
            ORDER BY x.id LIMIT 1), '') ELSE m.text END AS text,
        m.deleted_at IS NOT NULL AS deleted, coalesce(f.state, 'skipped') AS state,
        coalesce(f.reason, CASE WHEN s.enabled THEN 'undecided' ELSE 'off' END) AS reason,
        w.sha256 AS whole_sha256, w.size AS whole_size, w.type AS whole_type,
        w.missing_at IS NOT NULL AS whole_missing,
        t.sha256 AS small_sha256, t.size AS small_size, t.type AS small_type,
        t.missing_at IS NOT NULL AS small_missing
    FROM {source} a
    JOIN messages m ON m.channel = a.channel AND m.id = a.message
    JOIN channels c ON c.id = a.channel
    CROSS JOIN media_state s
    LEFT JOIN media_files f ON f.platform = c.platform AND f.file = a.file
    LEFT JOIN media_blobs w ON w.sha256 = f.sha256 AND f.state = 'kept'
    LEFT JOIN media_blobs t ON t.sha256 = f.thumbnail
"""


async def find(connection: Connection, channel: ChannelKey, message: MessageId, number: int) -> ServedFile | None:
    """The file at a place of a message; None where the message has none there."""
    row = await connection.fetchrow(
        _FILES.format(source="attachments") + "WHERE a.channel = $1 AND a.message = $2 AND a.number = $3",
        channel, message, number,
    )  # fmt: skip
    return None if row is None else _served(row)


def _served(row: asyncpg.Record) -> ServedFile:
    return from_row(
        ServedFile,
        row,
        reason=sentence_of(row["reason"]),
        whole=_bytes(row, "whole"),
        thumbnail=_bytes(row, "small"),
    )


def _bytes(row: asyncpg.Record, which: str) -> ServedBytes | None:
    if row[f"{which}_sha256"] is None:
        return None
    values = (row[f"{which}_{name}"] for name in ("sha256", "size", "type", "missing"))
    return ServedBytes(*values)


# Looking through a channel

PASSED = 5_000
"""How many files are passed at a time to find those that are looked for; then the reader asks on from there."""

_SOURCE = """(
    SELECT * FROM attachments WHERE channel = $1 AND (message, number) {past} ($2, $3)
      AND role NOT IN ('emoji', 'reaction')
    ORDER BY message {way}, number {way} LIMIT $4
)"""
_PAGE = (
    _FILES.format(source=_SOURCE.format(past="<", way="DESC"))
    + """
    WHERE (cardinality($5::text[]) = 0 OR f.kind = ANY($5))
      AND (cardinality($6::text[]) = 0 OR coalesce(f.state, 'skipped') = ANY($6))
    ORDER BY a.message DESC, a.number DESC LIMIT $7
"""
)
_BESIDE = """
    WHERE (w.type = ANY($5) OR t.sha256 IS NOT NULL)
    ORDER BY a.message {way}, a.number {way} LIMIT 1
"""
_EARLIER = _FILES.format(source=_SOURCE.format(past="<", way="DESC")) + _BESIDE.format(way="DESC")
_LATER = _FILES.format(source=_SOURCE.format(past=">", way="ASC")) + _BESIDE.format(way="ASC")


@dataclass(frozen=True, slots=True)
class FilePlace:
    """Where a file is in its channel."""

    message: MessageId
    number: int


NEWEST = FilePlace(MessageId(2**63 - 1), 0)


@dataclass(frozen=True, slots=True)
class FilesPage:
    """Files of a channel, the newest first, and from where the next page goes on; None at the end."""

    files: list[ServedFile]
    older: FilePlace | None


async def page(
    connection: Connection,
    channel: ChannelKey,
    before: FilePlace,
    *,
    kinds: Collection[str],
    states: Collection[str],
    most: int,
) -> FilesPage:
    """Up to *most* files before a place; none of *kinds* or *states* is all of them."""
    rows = await connection.fetch(
        _PAGE, channel, before.message, before.number, PASSED, list(kinds), list(states), most + 1
    )
    found = [_served(row) for row in rows]
    if len(found) > most:
        last = found[most - 1]
        return FilesPage(found[:most], FilePlace(last.message, last.number))
    passed = await connection.fetchrow(
        """
        SELECT message, number FROM attachments
        WHERE channel = $1 AND (message, number) < ($2, $3) AND role NOT IN ('emoji', 'reaction')
        ORDER BY message DESC, number DESC OFFSET $4 LIMIT 1
        """,
        channel, before.message, before.number, PASSED - 1,
    )  # fmt: skip
    return FilesPage(found, None if passed is None else FilePlace(passed["message"], passed["number"]))


async def beside(
    connection: Connection, channel: ChannelKey, place: FilePlace, *, types: Collection[str]
) -> tuple[ServedFile | None, ServedFile | None]:
    """The files before and after a place that can be looked at: kept ones of these types, and those with a thumbnail.

    One that is very far away is not looked for.
    """
    asked = (channel, place.message, place.number, PASSED, list(types))
    earlier, later = await connection.fetchrow(_EARLIER, *asked), await connection.fetchrow(_LATER, *asked)
    return None if earlier is None else _served(earlier), None if later is None else _served(later)
