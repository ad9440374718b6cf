"""Removal of many kept files of a channel, to free the bytes they take."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tidegate.core.ids import ChannelKey
from tidegate.database.pool import Connection
from tidegate.media.rules.media_policy import PolicyKind, SkipReason

_HIGHEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class RemovedFiles:
    """How many files were removed, and how many another channel keeps from now on.

    *last* is the message and file to go on below; None at the end.
    """

    removed: int
    moved: int
    last: tuple[int, int] | None = None


async def remove(
    connection: Connection,
    channel: ChannelKey,
    kind: PolicyKind,
    *,
    keepers: Collection[ChannelKey],
    below: tuple[int, int] | None = None,
    most: int,
) -> RemovedFiles:
    """Remove up to *most* kept files of a kind from a channel, from the newest message down. A sweep deletes them.

    They are not fetched again unless the operator names them. One that a message of *keepers* shows goes over to it.
    """
    rows = await connection.fetch(
        """
        WITH g AS MATERIALIZED (
            SELECT platform, file, message FROM media_files
            WHERE channel = $1 AND kind = $2 AND state = 'kept' AND message <= $6 AND (message, file) < ($6, $7)
            ORDER BY message DESC, file DESC LIMIT $3 FOR UPDATE
        ), o AS (
            SELECT g.platform, g.file, g.message AS was, x.channel, x.message FROM g LEFT JOIN LATERAL (
                SELECT a.channel, a.message FROM attachments a JOIN channels c ON c.id = a.channel
                WHERE a.file = g.file AND c.platform = g.platform AND a.channel = ANY($5) AND a.channel <> $1
                ORDER BY a.message DESC LIMIT 1
            ) AS x ON true
        )
        UPDATE media_files f
        SET state = CASE WHEN o.channel IS NULL THEN 'skipped' ELSE f.state END,
            reason = CASE WHEN o.channel IS NULL THEN $4 ELSE f.reason END,
            sha256 = CASE WHEN o.channel IS NULL THEN NULL ELSE f.sha256 END,
            thumbnail = CASE WHEN o.channel IS NULL THEN NULL ELSE f.thumbnail END,
            channel = coalesce(o.channel, f.channel), message = coalesce(o.message, f.message),
            changed_at = clock_now()
        FROM o WHERE f.platform = o.platform AND f.file = o.file
        RETURNING o.channel IS NOT NULL AS moved, o.was, f.file
        """,
        channel, kind, most, SkipReason.REMOVED, list(keepers), *(below or (_HIGHEST, _HIGHEST)),
    )  # fmt: skip
    moved = len([row for row in rows if row["moved"]])
    last = min((row["was"], row["file"]) for row in rows) if len(rows) == most else None
    return RemovedFiles(len(rows) - moved, moved, last)
