"""The part of a database that WhatsApp's library uses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidegate.accounts.key_ring import KeyRing
from tidegate.accounts.queries.whatsapp_sessions import WhatsAppSessions
from tidegate.database.pool import Database


@asynccontextmanager
async def corner(database: Database, ring: KeyRing) -> AsyncIterator[WhatsAppSessions]:
    """The corner of a database; its role belongs to the whole server, so it is removed again."""

    async def opened() -> KeyRing:
        return ring

    yield WhatsAppSessions(database, opened)
    for row in await database.pool.fetch(
        """
        SELECT rolname FROM pg_roles r JOIN pg_database d ON r.rolname = 'tidegate_whatsapp_' || d.oid
        WHERE d.datname = current_database()
        """
    ):
        await database.pool.execute(f"DROP OWNED BY {row['rolname']} CASCADE")
        await database.pool.execute(f"DROP ROLE {row['rolname']}")
