"""Old sessions, password tries and known addresses are deleted (everything-kept-ends)."""

from __future__ import annotations

from datetime import datetime

from tidegate.database.pool import Connection, rows_deleted


async def prune_sessions(connection: Connection, before: datetime, *, limit: int) -> int:
    """Remove up to *limit* sessions that ended before that instant."""
    return await _delete_oldest(connection, "sessions", "hash", "until", before=before, limit=limit)


async def prune_tries(connection: Connection, before: datetime, *, limit: int) -> int:
    """Remove up to *limit* tries older than that instant."""
    return await _delete_oldest(connection, "sign_in_tries", "id", "at", before=before, limit=limit)


async def prune_clients(connection: Connection, before: datetime, *, limit: int) -> int:
    """Delete up to *limit* addresses without a sign-in since that instant."""
    return await _delete_oldest(connection, "sign_in_clients", "client", "signed_at", before=before, limit=limit)


async def _delete_oldest(connection: Connection, table: str, key: str, at: str, *, before: datetime, limit: int) -> int:
    done = await connection.execute(
        f"DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} WHERE {at} < $1 ORDER BY {at} LIMIT $2)",
        before, limit,
    )  # fmt: skip
    return rows_deleted(done)
