"""Which workers live, and which of them ended how.

A worker lives while its session holds the advisory lock of its number. Rows remember who a number was, so that whoever
comes after can tell a worker that left, died or fell silent.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from tidegate.rules.spreading import Ending
from tidegate.store import feed
from tidegate.store.database import Connection
from tidegate.words import AccountId, WorkerNumber

_LOCK_SPACE = 0x7467_7772  # "tgwr"; worker numbers are the second half of the lock's key

_ALIVE = f"""
    SELECT objid::bigint::integer
    FROM pg_locks
    WHERE locktype = 'advisory' AND classid = {_LOCK_SPACE} AND objsubid = 2 AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""

SERVED = f"""
    SELECT served.id
    FROM accounts served JOIN workers ON workers.number = served.owner
    WHERE workers.ended_at IS NULL AND workers.number IN ({_ALIVE})
"""
"""The accounts that a living worker serves right now, for queries that ask about what is theirs."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a worker is.

    *sessions* is how its database sessions are named; *host* and *process* let another worker of the same machine see
    whether it is gone.
    """

    name: str
    sessions: str
    host: str
    process: str
    version: str
    seats: int
    time_out: timedelta


@dataclass(frozen=True, slots=True)
class Missing:
    """A worker whose lock is gone and whose ending nobody has written down yet."""

    number: WorkerNumber
    name: str
    sessions: str
    host: str
    process: str
    time_out: timedelta
    beat_at: datetime
    session_open: bool
    now: datetime


async def take_lock(session: asyncpg.Connection, number: WorkerNumber) -> bool:
    """Hold *number* for as long as *session* lives; False when another worker has it."""
    held: bool = await session.fetchval("SELECT pg_try_advisory_lock($1, $2)", _LOCK_SPACE, number)
    return held


async def holds_lock(session: asyncpg.Connection, number: WorkerNumber) -> bool:
    """The beat: whether *session*, and with it the worker, still lives in the server's eyes."""
    held: bool = await session.fetchval(f"SELECT $1 IN ({_ALIVE} AND pid = pg_backend_pid())", number)
    return held


async def register(connection: Connection, number: WorkerNumber, who: Identity) -> None:
    """Write down who holds *number*; only once its lock is held."""
    await connection.execute(
        """
        INSERT INTO workers (number, name, sessions, host, process, version, seats, time_out)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        number, who.name, who.sessions, who.host, who.process, who.version, who.seats, who.time_out,
    )  # fmt: skip


async def store_beat(connection: Connection, number: WorkerNumber) -> None:
    await connection.execute("UPDATE workers SET beat_at = clock_now() WHERE number = $1", number)


async def alive(connection: Connection) -> dict[WorkerNumber, int]:
    """The workers alive, with their seats."""
    rows = await connection.fetch(f"SELECT number, seats FROM workers WHERE ended_at IS NULL AND number IN ({_ALIVE})")
    return {WorkerNumber(row["number"]): row["seats"] for row in rows}


async def serves(connection: Connection, account: AccountId) -> bool:
    """Whether a living worker serves *account* right now."""
    served: bool = await connection.fetchval(f"SELECT $1 IN ({SERVED})", account)
    return served


async def server_up_for(connection: Connection) -> timedelta:
    """How long locks could be held: since the server started, or started over after a crash of one of its processes.

    Only a privileged role sees the second instant; for others the first has to do.
    """
    up: timedelta = await connection.fetchval(
        """
        SELECT clock_timestamp() - greatest(
            pg_postmaster_start_time(),
            (SELECT max(backend_start) FROM pg_stat_activity WHERE backend_type = 'checkpointer')
        )
        """
    )
    return up


async def missing(connection: Connection) -> list[Missing]:
    """Workers that are gone without a word."""
    rows = await connection.fetch(
        f"""
        SELECT number, name, sessions, host, process, time_out, beat_at, clock_now() AS now,
            EXISTS (SELECT FROM pg_stat_activity s WHERE s.application_name = w.sessions || ' listens') AS session_open
        FROM workers w
        WHERE ended_at IS NULL AND number NOT IN ({_ALIVE})
        """
    )
    return [Missing(**dict(row)) for row in rows]


async def end(connection: Connection, number: WorkerNumber, ending: Ending) -> bool:
    """Write down how a worker ended, once, with its event; False when somebody else already did."""
    name = await _end(connection, number, ending)
    if name is not None:
        await feed.record(connection, f"worker.{ending.value}", name, {})
    return name is not None


async def renumber(connection: Connection, old: WorkerNumber, new: WorkerNumber, who: Identity) -> None:
    """Write down that a worker which lost its session goes on under a new number, whose lock it holds."""
    await register(connection, new, who)
    await _end(connection, old, Ending.LEFT)
    await feed.record(connection, "worker.came_back", who.name, {})


async def _end(connection: Connection, number: WorkerNumber, ending: Ending) -> str | None:
    name: str | None = await connection.fetchval(
        """
        UPDATE workers
        SET ended_at = clock_now(), ending = $2
        WHERE number = $1 AND ended_at IS NULL
        RETURNING name
        """,
        number,
        ending.value,
    )
    return name


async def end_sessions(connection: Connection | asyncpg.Pool, sessions: str) -> None:
    """End what an ended worker still has open: a frozen one may hold row locks that no time-out reaches."""
    await connection.execute(
        """
        SELECT pg_terminate_backend(pid)
        FROM pg_stat_activity
        WHERE application_name IN ($1, $1 || ' lives', $1 || ' listens') AND datname = current_database()
        """,
        sessions,
    )
