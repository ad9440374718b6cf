"""How far the policy has been applied to the files that are stored already."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.ids import AccountId, ChannelKey, FileId, MessageId
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row


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
    """Files of stored messages that would be fetched if media were turned on, by their announced sizes."""

    files: int
    bytes: int


async def estimate(connection: Connection, *, largest: int) -> BacklogEstimate:
    """How much the default policy would fetch of what is stored already. It reads all attachments, so ask it once."""
    row = await connection.fetchrow(
        """
        SELECT count(*) AS files, coalesce(sum(size), 0)::bigint AS bytes
        FROM (SELECT DISTINCT ON (c.platform, a.file) a.size
              FROM attachments a
              JOIN channels c ON c.id = a.channel AND c.enabled AND c.in_full AND NOT c.protected
              JOIN messages m ON m.channel = a.channel AND m.id = a.message AND m.deleted_at IS NULL
              WHERE a.size <= $1) AS wanted
        """,
        largest,
    )
    assert row is not None
    return from_row(BacklogEstimate, row)


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
