"""How many files there are and how many bytes they take, by channel, kind and state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.core.ids import AccountId, ChannelId, ChannelKey
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.media.rules.media_policy import MediaPlace, PolicyKind


@dataclass(frozen=True, slots=True)
class MediaTotal:
    """Files of one kind in one state, of one channel or of all."""

    kind: str
    state: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ChannelMedia:
    """The files of one kind in one channel: how many are kept, waiting and not kept, and the bytes of the kept ones.

    *in_channel* is the bytes of all kept files of the channel.
    """

    place: MediaPlace
    number: ChannelId
    title: str
    mirrored: bool
    kind: PolicyKind
    kept: int
    bytes: int
    waiting: int
    others: int
    in_channel: int


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


async def by_channel(connection: Connection, *, channel: ChannelKey | None = None, most: int) -> list[ChannelMedia]:
    """The sums of one channel, or of the *most* channels that take most; a channel's kinds are together."""
    rows = await connection.fetch(
        """
        WITH largest AS (
            SELECT channel, coalesce(sum(bytes) FILTER (WHERE state = 'kept'), 0) AS kept
            FROM media_totals WHERE files > 0 AND ($2::bigint IS NULL OR channel = $2)
            GROUP BY channel ORDER BY kept DESC, channel LIMIT $1
        )
        SELECT c.id AS channel, c.platform, c.number, coalesce(c.title, '') AS title, c.enabled AS mirrored, c.reader,
            c.in_full, c.keeps_archives, c.protected, t.kind,
            coalesce(sum(t.files) FILTER (WHERE t.state = 'kept'), 0)::bigint AS kept,
            coalesce(sum(t.bytes) FILTER (WHERE t.state = 'kept'), 0)::bigint AS bytes,
            coalesce(sum(t.files) FILTER (WHERE t.state IN ('wanted', 'failed')), 0)::bigint AS waiting,
            coalesce(sum(t.files) FILTER (WHERE t.state IN ('skipped', 'gone')), 0)::bigint AS others,
            l.kept::bigint AS in_channel
        FROM largest l JOIN media_totals t ON t.channel = l.channel JOIN channels c ON c.id = t.channel
        WHERE t.files > 0
        GROUP BY c.id, t.kind, l.kept ORDER BY l.kept DESC, c.id, t.kind
        """,
        most, channel,
    )  # fmt: skip
    return [from_row(ChannelMedia, row, place=from_row(MediaPlace, row), kind=PolicyKind(row["kind"])) for row in rows]


async def larger(
    connection: Connection, limits: Mapping[tuple[ChannelKey, PolicyKind], int]
) -> dict[tuple[ChannelKey, PolicyKind], int]:
    """The bytes of the kept files of each channel and kind that are larger than its limit for one file, if any."""
    rows = await connection.fetch(
        """
        SELECT g.channel, g.kind, f.bytes
        FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS g (channel, kind, largest)
        CROSS JOIN LATERAL (
            SELECT sum(m.size)::bigint AS bytes FROM media_files m
            WHERE m.channel = g.channel AND m.kind = g.kind AND m.state = 'kept' AND m.size > g.largest) AS f
        WHERE f.bytes > 0
        """,
        [channel for channel, _ in limits], [kind for _, kind in limits], list(limits.values()),
    )  # fmt: skip
    return {(ChannelKey(row["channel"]), PolicyKind(row["kind"])): row["bytes"] for row in rows}
