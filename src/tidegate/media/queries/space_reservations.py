"""Space reserved within the limits for files in flight: bytes that are being fetched and have no row yet."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.ids import AccountId
from tidegate.database.pool import Connection
from tidegate.media.queries import media_blobs


@dataclass(frozen=True, slots=True)
class SpaceTaken:
    """How many bytes are stored, and how many are reserved for the files in flight of all accounts."""

    stored: int
    held: int


async def lock_taken(connection: Connection) -> SpaceTaken:
    """What is taken. The next caller waits until this transaction ends, so that no two take the same space.

    The space of an account whose worker has died is free.
    """
    await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('media room', 0))")
    return await taken(connection)


async def taken(connection: Connection) -> SpaceTaken:
    """What is taken at this moment."""
    held: int = await connection.fetchval(
        """
        SELECT coalesce(sum(r.bytes), 0)::bigint FROM media_room r JOIN accounts a ON a.id = r.account
        LEFT JOIN workers w ON w.number = a.owner WHERE w.ended_at IS NULL
        """
    )
    return SpaceTaken((await media_blobs.stored_total(connection)).bytes, held)


async def reserve(connection: Connection, account: AccountId, more: int) -> None:
    """Reserve so many bytes more for the files of *account*; below zero, release them."""
    await connection.execute(
        """
        INSERT INTO media_room AS r (account, bytes) VALUES ($1, $2)
        ON CONFLICT (account) DO UPDATE SET bytes = greatest(r.bytes + excluded.bytes, 0)
        """,
        account, more,
    )  # fmt: skip


async def clear(connection: Connection, account: AccountId) -> None:
    """Nothing of *account* is in flight."""
    await connection.execute("DELETE FROM media_room WHERE account = $1", account)
