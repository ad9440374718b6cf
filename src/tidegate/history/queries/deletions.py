"""Messages that their platform has deleted: marked as deleted, also before they arrive."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from tidegate.core.ids import ChannelKey, MessageId
from tidegate.database.notifier import mark_messages
from tidegate.database.pool import Connection, rows_deleted
from tidegate.history.queries.messages import hold


async def mark_deleted(connection: Connection, key: ChannelKey, gone: Collection[MessageId]) -> list[MessageId]:
    """Mark messages as deleted on the platform; returns those that were stored and not marked before.

    A deletion of a message that is not stored yet is recorded: if the message arrives later, it counts as deleted.
    """
    if not gone:
        return []
    await hold(connection, key)
    rows = await connection.fetch(
        """
        UPDATE messages SET deleted_at = clock_now()
        WHERE channel = $1 AND id = ANY($2) AND deleted_at IS NULL
        RETURNING id
        """,
        key, list(gone),
    )  # fmt: skip
    mark_messages(connection, key, (row["id"] for row in rows))
    if len(rows) < len(gone):
        await connection.execute(
            """
            INSERT INTO early_deletions (channel, message)
            SELECT $1, n FROM unnest($2::bigint[]) AS n
            WHERE NOT EXISTS (SELECT FROM messages m WHERE m.channel = $1 AND m.id = n)
            ON CONFLICT DO NOTHING
            """,
            key, list(gone),
        )  # fmt: skip
    return [MessageId(row["id"]) for row in rows]


async def prune_early_deletions(connection: Connection, before: datetime, *, limit: int) -> int:
    """Forget up to *limit* deletions of messages that never came; no page of so long ago is still on its way."""
    done: str = await connection.execute(
        """
        DELETE FROM early_deletions WHERE (channel, message) IN (
            SELECT channel, message FROM early_deletions WHERE deleted_at < $1 ORDER BY deleted_at LIMIT $2
        )
        """,
        before, limit,
    )  # fmt: skip
    return rows_deleted(done)
