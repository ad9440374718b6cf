"""Removal of many kept files of a channel, to free the bytes they take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.core.ids import ChannelKey
from tidegate.database.pool import Connection
from tidegate.media.rules.media_policy import PolicyKind, SkipReason
from tidegate.media.rules.unneeded_files import UnneededFiles

_LOWEST = (-1, -(1 << 63))
_ALL = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class RemovedFiles:
    """How many files were removed, how many another channel keeps from now on, and the bytes of both.

    *last* is the message and file to go on after; None at the end.
    """

    removed: int
    moved: int
    bytes: int
    last: tuple[int, int] | None = None


async def remove(
    connection: Connection,
    channel: ChannelKey,
    kind: PolicyKind,
    unneeded: UnneededFiles,
    *,
    keepers: Mapping[ChannelKey, int],
    after: tuple[int, int] | None = None,
    most: int,
) -> RemovedFiles:
    """Remove up to *most* of the unneeded files of a channel, from the oldest message up. A sweep deletes their bytes.

    They are not fetched again unless the operator names them, or only a thumbnail is left of them. One that a message
    of *keepers* shows goes over to it, if it is no larger than that channel's limit for one file.
    """
    rows = await connection.fetch(
        """
        WITH p AS MATERIALIZED (
            SELECT platform, file, message, size FROM media_files
            WHERE channel = $1 AND kind = $2 AND state = 'kept' AND size > $7
              AND message >= $5 AND (message, file) > ($5, $6)
            ORDER BY message, file LIMIT $3 FOR UPDATE
        ), g AS (
            SELECT * FROM (SELECT p.*, sum(size) OVER (ORDER BY message, file) - size AS before FROM p) AS s
            WHERE before < $8
        ), o AS (
            SELECT g.platform, g.file, g.message AS was, x.channel, x.message FROM g LEFT JOIN LATERAL (
                SELECT a.channel, a.message FROM attachments a
                JOIN unnest($9::bigint[], $10::bigint[]) AS k (channel, largest)
                    ON k.channel = a.channel AND g.size <= k.largest
                JOIN channels c ON c.id = a.channel AND c.platform = g.platform
                WHERE a.file = g.file AND a.channel <> $1
                ORDER BY a.message DESC LIMIT 1
            ) AS x ON true
        )
        UPDATE media_files f
        SET state = CASE WHEN o.channel IS NULL THEN 'skipped' ELSE f.state END,
            reason = CASE WHEN o.channel IS NOT NULL THEN f.reason
                          WHEN $11 AND f.thumbnail IS NOT NULL THEN 'thumbnail' ELSE $4 END,
            sha256 = CASE WHEN o.channel IS NULL THEN NULL ELSE f.sha256 END,
            thumbnail = CASE WHEN o.channel IS NULL AND NOT $11 THEN NULL ELSE f.thumbnail END,
            channel = coalesce(o.channel, f.channel), message = coalesce(o.message, f.message),
            changed_at = clock_now()
        FROM o WHERE f.platform = o.platform AND f.file = o.file
        RETURNING o.channel IS NOT NULL AS moved, o.was, f.file, f.size
        """,
        channel, kind, most, SkipReason.REMOVED, *(after or _LOWEST), unneeded.above,
        unneeded.bytes if unneeded.oldest else _ALL, list(keepers), list(keepers.values()),
        unneeded.keeps_thumbnails,
    )  # fmt: skip
    moved = len([row for row in rows if row["moved"]])
    last = max((row["was"], row["file"]) for row in rows) if len(rows) == most else None
    return RemovedFiles(len(rows) - moved, moved, sum(row["size"] for row in rows), last)
