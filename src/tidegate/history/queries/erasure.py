"""Messages that are erased for good, and those whose time to live has ended."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from tidegate.core.ids import ChannelKey, FileId, MessageId
from tidegate.core.message_content import MessageContent
from tidegate.database.notifier import mark_messages
from tidegate.database.pool import Connection
from tidegate.history.content_json import content_json
from tidegate.history.queries import messages
from tidegate.media.queries import media_files

# As the index messages_expiring has them, and in its order: without one the planner reads all messages for a few.
_EXPIRED = "content ? 'expires_at' AND (content ->> 'expires_at') COLLATE \"C\" <= $1"
_LEFT = "deleted_at IS NULL"
_IN_ORDER = "ORDER BY deleted_at, (content ->> 'expires_at') COLLATE \"C\""


async def erase(connection: Connection, key: ChannelKey, ids: Collection[MessageId]) -> list[MessageId]:
    """Erase messages: a row with number, time, topic and thread stays, marked as deleted; returns those erased now.

    Whatever the platform sends of them later is not stored. One that is not stored is left alone.
    """
    await messages.hold(connection, key)
    rows = await connection.fetch(
        """
        UPDATE messages
        SET text = '', author = '', author_id = NULL, automatic = false, service = '', reply_to = NULL, album = NULL,
            edited_at = NULL, hidden_edit_at = NULL, hidden_seen_at = NULL, reactions = '{}', extra = NULL,
            files = '{}', words = '', kind = 'text', content = NULL, counts = NULL, counted_at = NULL, raw = NULL,
            deleted_at = coalesce(deleted_at, clock_now()), erased_at = clock_now()
        WHERE channel = $1 AND id = ANY($2) AND erased_at IS NULL
        RETURNING id
        """,
        key, list(ids),
    )  # fmt: skip
    erased = [MessageId(row["id"]) for row in rows]
    if erased:
        # After the change of the text, which itself leaves a revision.
        await connection.execute("DELETE FROM message_revisions WHERE channel = $1 AND message = ANY($2)", key, erased)
        files = await connection.fetch(
            "DELETE FROM attachments WHERE channel = $1 AND message = ANY($2) RETURNING file", key, erased
        )
        await media_files.erase(connection, key, {FileId(row["file"]) for row in files})
        await connection.execute(
            """
            UPDATE previews p SET picture = NULL FROM archives a
            WHERE a.id = p.archive AND a.channel = $1 AND p.message = ANY($2)
            """,
            key, erased,
        )  # fmt: skip
        await connection.execute(
            "UPDATE archive_parts SET sender = '' WHERE channel = $1 AND message = ANY($2)", key, erased
        )
        mark_messages(connection, key, erased)
    return erased


async def expired_in(connection: Connection, before: datetime, *, deleted_too: bool) -> ChannelKey | None:
    """A channel with messages that expired before an instant; deleted ones count only if *deleted_too*."""
    which = _EXPIRED if deleted_too else f"{_EXPIRED} AND {_LEFT}"
    found: int | None = await connection.fetchval(
        f"SELECT channel FROM messages WHERE {which} {_IN_ORDER} LIMIT 1", _stored(before)
    )
    return None if found is None else ChannelKey(found)


async def expired(
    connection: Connection, key: ChannelKey, before: datetime, *, deleted_too: bool, limit: int
) -> list[MessageId]:
    """Up to *limit* such messages of a channel, which is held until the transaction ends."""
    await messages.hold(connection, key)
    which = _EXPIRED if deleted_too else f"{_EXPIRED} AND {_LEFT}"
    rows = await connection.fetch(
        f"SELECT id FROM messages WHERE {which} AND channel = $2 {_IN_ORDER} LIMIT $3", _stored(before), key, limit
    )
    return [MessageId(row["id"]) for row in rows]


def _stored(at: datetime) -> str:
    """An instant as the content of a message has it."""
    return str(content_json(MessageContent(expires_at=at))["expires_at"])
