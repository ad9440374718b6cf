"""What files take by channel and kind, what an older database would have to fetch, and removal of many files."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tidegate.core.ids import ChannelId, ChannelKey
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.media.rules.media_policy import DEFAULT_LARGEST, MediaPlace, PolicyKind, SkipReason


@dataclass(frozen=True, slots=True)
class ChannelMedia:
    """The files of one kind in one channel: how many are kept, waiting and not kept, and the bytes of the kept ones."""

    place: MediaPlace
    number: ChannelId
    title: str
    mirrored: bool
    kind: PolicyKind
    kept: int
    bytes: int
    waiting: int
    others: int


async def by_channel(connection: Connection, *, most: int) -> list[ChannelMedia]:
    """The sums of the *most* channels that take most; a channel's kinds are together."""
    rows = await connection.fetch(
        """
        WITH largest AS (
            SELECT channel, coalesce(sum(bytes) FILTER (WHERE state = 'kept'), 0) AS kept
            FROM media_totals WHERE files > 0 GROUP BY channel ORDER BY kept DESC, channel LIMIT $1
        )
        SELECT c.id AS channel, c.platform, c.number, coalesce(c.title, '') AS title, c.enabled AS mirrored, c.reader,
            c.in_full, c.keeps_archives, c.protected, t.kind,
            coalesce(sum(t.files) FILTER (WHERE t.state = 'kept'), 0)::bigint AS kept,
            coalesce(sum(t.bytes) FILTER (WHERE t.state = 'kept'), 0)::bigint AS bytes,
            coalesce(sum(t.files) FILTER (WHERE t.state IN ('wanted', 'failed')), 0)::bigint AS waiting,
            coalesce(sum(t.files) FILTER (WHERE t.state IN ('skipped', 'gone')), 0)::bigint AS others
        FROM largest l JOIN media_totals t ON t.channel = l.channel JOIN channels c ON c.id = t.channel
        WHERE t.files > 0
        GROUP BY c.id, t.kind, l.kept ORDER BY l.kept DESC, c.id, t.kind
        """,
        most,
    )
    return [from_row(ChannelMedia, row, place=from_row(MediaPlace, row), kind=PolicyKind(row["kind"])) for row in rows]


async def mirrored_places(connection: Connection) -> list[MediaPlace]:
    """All mirrored channels as the policy sees them."""
    rows = await connection.fetch(
        "SELECT id AS channel, platform, reader, in_full, keeps_archives, protected FROM channels WHERE enabled"
    )
    return [from_row(MediaPlace, row) for row in rows]


_HIGHEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class ReleasedFiles:
    """How many files were removed, and how many another channel keeps from now on.

    *last* is the message and file to go on below; None at the end.
    """

    removed: int
    moved: int
    last: tuple[int, int] | None = None


async def release(
    connection: Connection,
    channel: ChannelKey,
    kind: PolicyKind,
    *,
    keepers: Collection[ChannelKey],
    below: tuple[int, int] | None = None,
    most: int,
) -> ReleasedFiles:
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
    return ReleasedFiles(len(rows) - moved, moved, last)


# What would have to be fetched

_SAMPLED = 200_000
"""About how many files are looked at for an estimate."""


@dataclass(frozen=True, slots=True)
class ReaderEstimate:
    """What one account would fetch, estimated from a sample."""

    platform: str
    files: int
    bytes: int  # of these files together


async def estimate(connection: Connection) -> list[ReaderEstimate]:
    """What the usual policy would fetch of the messages that are stored, by account; of many files a sample."""
    known: float = await connection.fetchval(
        "SELECT greatest(reltuples, 0)::float8 FROM pg_class WHERE oid = 'attachments'::regclass"
    )
    percent = min(100.0, 100.0 * _SAMPLED / max(known, 1.0))
    rows = await connection.fetch(
        """
        SELECT c.platform, round(count(*) * 100 / $1)::bigint AS files,
            round(coalesce(sum(a.size), 0)::float8 * 100 / $1)::bigint AS bytes
        FROM attachments a TABLESAMPLE SYSTEM ($1) JOIN channels c ON c.id = a.channel
        WHERE c.enabled AND c.in_full AND NOT c.protected AND c.reader IS NOT NULL AND a.size <= $2
        GROUP BY c.reader, c.platform
        """,
        percent, DEFAULT_LARGEST,
    )  # fmt: skip
    return [from_row(ReaderEstimate, row) for row in rows]
