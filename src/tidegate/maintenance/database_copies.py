"""A database that is a copy of another: restored from a backup, moved, or copied to another server by hand.

A copy does not know what happened after it was made. Messages may have been sent, so runs and pace wait. Tokens may
have been revoked and sessions ended, so all of them are invalid until the operator confirms them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import structlog

from tidegate.access.queries import operator_password, page_sessions, tokens
from tidegate.database.pg_address import connect
from tidegate.database.pool import Connection
from tidegate.events.kinds.access import AccessReset
from tidegate.events.queries import feed
from tidegate.lanes.queries import pace
from tidegate.reminders.queries import reminders, run_states

_NAME = "tidegate upgrade"  # so that an upgrade does not count these sessions as other users

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class DistrustedAccess:
    """The access that a copy has reset: *tokens* wait for confirmation; *sessions* and *links* are counted."""

    tokens: list[str]
    sessions: int
    links: int
    has_password: bool


async def reset_work(connection: Connection) -> None:
    """Reset what only the original could know: owners, workers, pace, and whether open runs may continue."""
    # Transaction numbers of another server mean nothing here: what was recorded comes before everything new.
    await connection.execute("UPDATE events SET tx = '0'")
    await connection.execute("UPDATE accounts SET owner = NULL, epoch = epoch + 1")
    await connection.execute("DELETE FROM workers")
    await pace.empty_all(connection)
    await run_states.pause_open(connection, by="restore")
    await reminders.doubt_due(connection)


async def distrust(connection: Connection, *, because: str) -> DistrustedAccess:
    """Treat the database as a copy: reset all access, which the original may have revoked since."""
    await reset_work(connection)
    gone, links = await page_sessions.forget_everybody(connection)
    found = DistrustedAccess(
        tokens=await tokens.unconfirm_all(connection),
        sessions=gone,
        links=links,
        has_password=await operator_password.password_hash(connection) is not None,
    )
    await feed.record(connection, because, AccessReset(**asdict(found)))
    await note_place(connection)
    return found


async def note_place(connection: Connection) -> None:
    """Store that the data belongs to this server and database."""
    await connection.execute("UPDATE house SET lineage = $1", await _here(connection))


async def recognise(dsn: str) -> DistrustedAccess | None:
    """Treat a database as a copy if Tidegate last opened it on another server, or under another name."""
    connection = await connect(dsn, name=_NAME)
    try:
        here = await _here(connection)
        if here is None or await connection.fetchval("SELECT lineage FROM house") == here:
            return None
        async with connection.transaction():
            # Locked: of several processes that start together one resets, and the others find it done.
            lineage = await connection.fetchval("SELECT lineage FROM house FOR UPDATE")
            if lineage in (None, here):
                await note_place(connection)
                return None
            found = await distrust(connection, because="copy")
    finally:
        await connection.close()
    _log.warning(
        "database.is_a_copy",
        problem="This database was last used on another server. Every browser has to sign in again, tokens wait for "
        "tidegate token confirm, and open runs are paused.",
        tokens=found.tokens,
    )
    return found


async def leave(dsn: str) -> None:
    """Note that the data was moved away: if this database is opened again, it counts as a copy."""
    connection = await connect(dsn, name=_NAME)
    try:
        await connection.execute("UPDATE house SET lineage = 'left'")
    finally:
        await connection.close()


async def _here(connection: Connection) -> str | None:
    """Which server, database and table this is; None where the server does not say.

    The table changes its number when it is restored over the original in the same database.
    """
    if not await connection.fetchval("SELECT has_function_privilege('pg_control_system()', 'EXECUTE')"):
        return None
    found: str = await connection.fetchval(
        "SELECT concat_ws('/', system_identifier, d.oid, 'house'::regclass::oid) "
        "FROM pg_control_system(), pg_database d WHERE d.datname = current_database()"
    )
    return found
