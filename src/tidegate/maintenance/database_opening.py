"""Opening a database: it must have the schema this code knows, and a copy must be recognised."""

from __future__ import annotations

from tidegate.database.migrations import HEAD
from tidegate.database.migrations.upgrade import NAME, refuse_others, require_current, upgrade, version
from tidegate.database.pg_address import connect
from tidegate.database.pool import Address, require_supported
from tidegate.maintenance import database_copies


async def prepare(address: Address, *, embedded: bool) -> None:
    """Make sure the database has the schema this code knows, and recognise a copy.

    The embedded one is upgraded, provided that no other process uses it. Any other is left to the operator, who
    knows which workers to stop first.
    """
    connection = await connect(address.direct, name=NAME)
    try:
        require_supported(int(await connection.fetchval("SHOW server_version_num")))
        at = await version(connection)
    finally:
        await connection.close()
    if embedded and (at is None or at < HEAD):
        await upgrade(address.direct, first=refuse_others)
    else:
        require_current(at)
    await database_copies.recognise(address.direct)
