"""How a reminder or a saved list is found: by its name, or by its number."""

from __future__ import annotations

import asyncpg

from tidegate.database.pool import Connection


async def find_row(
    connection: Connection, query: str, row: str, name: str | int, *, lock: bool
) -> asyncpg.Record | None:
    """The one *row*, an alias in the *query*, of that name or number; *lock* keeps it from changing.

    A text is a name first, since a name may look like another row's number. A number is never taken for a name.
    """
    where = f"WHERE {row}.id::text = $1 OR ({row}.name = $1 AND $2) ORDER BY $2 AND {row}.name = $1 DESC LIMIT 1"
    locked = f"FOR UPDATE OF {row}" if lock else ""
    return await connection.fetchrow(f"{query} {where} {locked}", str(name), isinstance(name, str))
