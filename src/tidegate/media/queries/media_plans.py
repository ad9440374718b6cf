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
