"""Facts of the database server, for ``tidegate doctor``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.database.pool import Connection


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server's own clock, the installed extensions, and the size of the database in bytes."""

    now: datetime
    extensions: list[str]
    size: int


async def server_facts(connection: Connection) -> ServerFacts:
    row = await connection.fetchrow(
        """
        SELECT clock_timestamp() AS now, pg_database_size(current_database()) AS size,
            ARRAY(SELECT extname || ' ' || extversion FROM pg_extension ORDER BY extname) AS extensions
        """
    )
    assert row is not None
    return ServerFacts(**row)


async def sealed_with(connection: Connection) -> list[str]:
    """The ids of the keys that secrets in the database are sealed with."""
    rows = await connection.fetch("SELECT key_id FROM secrets UNION SELECT key_id FROM house_secrets ORDER BY key_id")
    return [row["key_id"] for row in rows]
