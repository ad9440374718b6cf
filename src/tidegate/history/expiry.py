"""What becomes of messages whose time to live has ended: they are kept as deleted, or erased.

Platforms announce no such deletion: every client is expected to make it by itself.
"""

from __future__ import annotations

from datetime import datetime

from tidegate.core.message_content import ExpiredMessages
from tidegate.database.pool import Connection
from tidegate.history.ingest import drop_archive_parts
from tidegate.history.queries import deletions, erasure


async def end_expired(connection: Connection, before: datetime, *, limit: int, outcome: ExpiredMessages) -> int:
    """End up to *limit* messages of one channel that expired before an instant; returns how many.

    One channel at a time, because a transaction that stores messages locks their channel.
    """
    erases = outcome is ExpiredMessages.ERASE
    key = await erasure.expired_in(connection, before, deleted_too=erases)
    if key is None:
        return 0
    ids = await erasure.expired(connection, key, before, deleted_too=erases, limit=limit)
    gone = await deletions.mark_deleted(connection, key, ids)
    if gone:
        await drop_archive_parts(connection, key, {}, gone)
    return len(await erasure.erase(connection, key, ids)) if erases else len(gone)
