"""Messages whose fields are partial: they were stored before every field was, and have to be read once more."""

from __future__ import annotations

from tidegate.core.ids import AccountId, ChannelId, ChannelKey, MessageId
from tidegate.database.pool import Connection

_PARTIAL = "kind = '' AND deleted_at IS NULL"  # as the index messages_partial has them


async def channels(connection: Connection, account: AccountId) -> list[ChannelId]:
    """The channels that *account* reads, and may read now, with such messages."""
    rows = await connection.fetch(
        f"""
        SELECT number FROM channels c
        WHERE reader = $1 AND enabled AND state = 'ok' AND coalesce(parked_until, '-infinity') <= clock_now()
          AND EXISTS (SELECT FROM messages WHERE channel = c.id AND {_PARTIAL})
        ORDER BY id
        """,
        account,
    )
    return [ChannelId(row["number"]) for row in rows]


async def newest(connection: Connection, key: ChannelKey, *, most: int) -> list[MessageId]:
    """The newest such messages of a channel."""
    rows = await connection.fetch(
        f"SELECT id FROM messages WHERE channel = $1 AND {_PARTIAL} ORDER BY id DESC LIMIT $2", key, most
    )
    return [MessageId(row["id"]) for row in rows]


async def count(connection: Connection, key: ChannelKey) -> int:
    """How many such messages a channel has."""
    number: int = await connection.fetchval(f"SELECT count(*) FROM messages WHERE channel = $1 AND {_PARTIAL}", key)
    return number
