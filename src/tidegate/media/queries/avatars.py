"""Pictures of people, channels and servers: which each has, which it had, and what is kept of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tidegate.core.ids import ChannelId, ChannelKey, FileId, MessageId, Sha256, UserId
from tidegate.core.message_content import Avatar
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.media.queries.served_files import ServedBytes


@dataclass(frozen=True, slots=True)
class SeenAvatar:
    """A picture where it was seen: with a message of its owner, or 0 for that of the channel itself."""

    avatar: Avatar
    message: MessageId


async def store(
    connection: Connection, platform: str, channel: ChannelKey, seen: Collection[SeenAvatar]
) -> list[SeenAvatar]:
    """Store pictures that their owners did not have before; returns these."""
    by_owner = {one.avatar.owner: one for one in seen}
    rows = await connection.fetch(
        """
        INSERT INTO avatars AS a (platform, owner, file, channel, message, handle)
        SELECT $1, g.owner, g.file, $2, g.message, g.handle
        FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::text[]) AS g (owner, file, message, handle)
        WHERE g.file IS DISTINCT FROM (SELECT k.file FROM avatars k WHERE k.platform = $1 AND k.owner = g.owner
                                       ORDER BY k.shown_at DESC LIMIT 1)
        ORDER BY g.owner
        ON CONFLICT (platform, owner, file) DO UPDATE
        SET shown_at = excluded.shown_at, channel = excluded.channel, message = excluded.message,
            handle = excluded.handle
        RETURNING a.owner
        """,
        platform, channel, list(by_owner), [one.avatar.file for one in by_owner.values()],
        [one.message for one in by_owner.values()], [one.avatar.handle for one in by_owner.values()],
    )  # fmt: skip
    return [by_owner[row["owner"]] for row in rows]


async def shown_by(
    connection: Connection, platform: str, shown: Mapping[ChannelId, Avatar]
) -> dict[ChannelKey, Avatar]:
    """Store which picture each channel shows. Returns those that no channel showed, each with one that is mirrored."""
    rows = await connection.fetch(
        """
        UPDATE channels c SET avatar_of = g.owner, avatar = g.file
        FROM (SELECT k.id, t.owner, t.file
              FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS t (number, owner, file)
              JOIN channels k ON k.platform = $1 AND k.number = t.number
              WHERE (k.avatar_of, k.avatar) IS DISTINCT FROM (t.owner, t.file)
              ORDER BY k.number FOR UPDATE OF k) AS g
        WHERE c.id = g.id
        RETURNING c.id, c.number, c.enabled AND c.in_full AS mirrored
        """,
        platform, list(shown), [one.owner for one in shown.values()], [one.file for one in shown.values()],
    )  # fmt: skip
    by_owner = {shown[ChannelId(row["number"])].owner: row for row in sorted(rows, key=lambda row: row["mirrored"])}
    return {ChannelKey(row["id"]): shown[ChannelId(row["number"])] for row in by_owner.values()}


async def seen_in(connection: Connection, channel: ChannelKey, after: int | None, *, most: int) -> list[SeenAvatar]:
    """Up to *most* pictures that were seen in a channel, by owner."""
    rows = await connection.fetch(
        """
        SELECT owner, file, handle, message FROM avatars
        WHERE channel = $1 AND owner > coalesce($2, -9223372036854775808) ORDER BY owner LIMIT $3
        """,
        channel, after, most,
    )  # fmt: skip
    return [SeenAvatar(Avatar(row["owner"], FileId(row["file"]), row["handle"]), row["message"]) for row in rows]


# What is kept. The picture that an owner has now; until it is kept, the one before it.
_KEPT = """
    SELECT DISTINCT ON (a.owner) a.owner, b.sha256, b.size, b.type, b.missing_at IS NOT NULL AS missing,
        t.sha256 AS small_sha256, t.size AS small_size, t.type AS small_type
    FROM avatars a
    JOIN media_files f ON f.platform = a.platform AND f.file = a.file AND f.state = 'kept'
    JOIN media_blobs b ON b.sha256 = f.sha256
    LEFT JOIN media_blobs t ON t.sha256 = f.thumbnail AND t.missing_at IS NULL
    WHERE a.platform = $1 AND a.owner = ANY($2)
    ORDER BY a.owner, a.shown_at DESC
"""


@dataclass(frozen=True, slots=True)
class KeptAvatar:
    """The bytes of a picture, and those of a small one where it was made."""

    whole: ServedBytes
    small: ServedBytes | None


async def find(connection: Connection, platform: str, owner: int) -> KeptAvatar | None:
    """The avatar of a person; None where none is kept."""
    row = await connection.fetchrow(_KEPT, platform, [owner])
    if row is None:
        return None
    small = row["small_sha256"]
    return KeptAvatar(
        from_row(ServedBytes, row),
        None if small is None else ServedBytes(Sha256(small), row["small_size"], row["small_type"], missing=False),
    )


async def kept_of(connection: Connection, platform: str, owners: Collection[UserId]) -> frozenset[UserId]:
    """Of which of these people a picture is kept."""
    rows = await connection.fetch(f"SELECT owner FROM ({_KEPT}) AS k", platform, list(owners))
    return frozenset(UserId(row["owner"]) for row in rows)


async def channel_owners(connection: Connection, keys: Sequence[ChannelKey]) -> dict[ChannelKey, int]:
    """Whose picture each of these channels shows, where one is kept."""
    rows = await connection.fetch(
        """
        SELECT c.id, c.avatar_of FROM channels c
        WHERE c.id = ANY($1) AND EXISTS (
            SELECT FROM avatars a JOIN media_files f ON f.platform = a.platform AND f.file = a.file
            WHERE a.platform = c.platform AND a.owner = c.avatar_of AND f.state = 'kept')
        """,
        list(keys),
    )
    return {ChannelKey(row["id"]): row["avatar_of"] for row in rows}
