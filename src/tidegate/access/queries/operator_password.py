"""The operator's password, of which only a hash is stored.

The caller hashes it, because that takes long and belongs in a thread.
"""

from __future__ import annotations

from tidegate.access.queries.page_sessions import shut_everybody_out
from tidegate.database.pool import Connection
from tidegate.events.kinds.access import SignInPasswordSet
from tidegate.events.queries import feed


async def password_hash(connection: Connection) -> str | None:
    """What argon2 made of the password, if there is one."""
    kept: str | None = await connection.fetchval("SELECT hash FROM passwords")
    return kept


async def set_password(connection: Connection, hashed: str) -> None:
    """A new password; every browser that is signed in has to sign in again, and no link made before is good."""
    await connection.execute(
        "INSERT INTO passwords (hash) VALUES ($1) ON CONFLICT (single) DO UPDATE SET hash = $1, set_at = clock_now()",
        hashed,
    )
    await shut_everybody_out(connection)
    await feed.record(connection, "pages", SignInPasswordSet())
