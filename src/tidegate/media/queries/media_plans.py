"""How far the policy has been applied to the files of stored messages, and what it would fetch of them."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.ids import AccountId, ChannelKey, FileId, MessageId
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.media.rules.media_policy import DEFAULT_LARGEST

_SAMPLED = 200_000
"""About how many files are looked at for an estimate."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a stored message; *deleted* is whether the message is gone from the platform."""

    message: MessageId
    file: FileId
    name: str
    size: int
    mime: str
    kind: str
    form: str
    role: str
    deleted: bool


@dataclass(frozen=True, slots=True)
class BacklogEstimate:
    """Files of stored messages that one account would fetch if media were turned on, estimated from a sample."""

    platform: str
    files: int
    bytes: int  # of these files together


async def estimate(connection: Connection) -> list[BacklogEstimate]:
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
    return [from_row(BacklogEstimate, row) for row in rows]


async def next_undecided(connection: Connection, account: AccountId, revision: int) -> ChannelKey | None:
    """A channel that *account* reads and that the policy of this revision has not been applied to."""
    key: ChannelKey | None = await connection.fetchval(
        """
        SELECT c.id FROM channels c LEFT JOIN media_plans p ON p.channel = c.id
        WHERE c.reader = $1 AND c.enabled AND (p.channel IS NULL OR p.revision < $2 OR p.below IS NOT NULL)
        ORDER BY c.id LIMIT 1
        """,
        account, revision,
    )  # fmt: skip
    return key


async def below(connection: Connection, channel: ChannelKey, revision: int) -> MessageId | None:
    """Below which message a channel is still to be decided about; None for all of it."""
    number: MessageId | None = await connection.fetchval(
        "SELECT below FROM media_plans WHERE channel = $1 AND revision = $2", channel, revision
    )
    return number


async def stored_files(
    connection: Connection, channel: ChannelKey, before: MessageId | None, *, most: int
) -> list[StoredFile]:
    """Up to *most* files of stored messages below one, the newest first."""
    rows = await connection.fetch(
        """
        SELECT a.message, a.file, a.name, a.size, a.mime, a.kind, a.form, a.role, m.deleted_at IS NOT NULL AS deleted
        FROM attachments a JOIN messages m ON m.channel = a.channel AND m.id = a.message
        WHERE a.channel = $1 AND a.message < coalesce($2, 9223372036854775807)
        ORDER BY a.message DESC, a.number DESC LIMIT $3
        """,
        channel, before, most,
    )  # fmt: skip
    return [from_row(StoredFile, row) for row in rows]


async def move_on(connection: Connection, channel: ChannelKey, revision: int, before: MessageId | None) -> None:
    """Everything from *before* on is decided about under this revision; None when all is."""
    await connection.execute(
        """
        INSERT INTO media_plans (channel, revision, below) VALUES ($1, $2, $3)
        ON CONFLICT (channel) DO UPDATE SET revision = excluded.revision, below = excluded.below
        """,
        channel, revision, before,
    )  # fmt: skip
