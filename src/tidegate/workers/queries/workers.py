"""Which workers are alive, and how the others ended.

A worker is alive while its session holds the advisory lock of its number. Rows record which worker had a number, so
that the next one knows whether it left, died or became silent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from tidegate.core.ids import AccountId, WorkerNumber
from tidegate.database.pool import Connection
from tidegate.events.event_data import EventData
from tidegate.events.kinds.workers import WorkerCameBack, WorkerDied, WorkerLeft, WorkerSilent
from tidegate.events.queries import feed
from tidegate.workers.rules.missing_worker import WorkerEnding

_LOCK_SPACE = 0x7467_7772  # "tgwr"; worker numbers are the second half of the lock's key

_ENDED: Mapping[WorkerEnding, type[EventData]] = {
    WorkerEnding.LEFT: WorkerLeft,
    WorkerEnding.DIED: WorkerDied,
    WorkerEnding.SILENT: WorkerSilent,
}

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
"""The accounts that a living worker serves now, as a subquery for other queries."""


@dataclass(frozen=True, slots=True)
class WorkerIdentity:
    """The identity of a worker.

    *sessions* is the name of its database sessions. *host* and *process* let another worker on the same machine check
    whether it has ended.
    """

    name: str
    sessions: str
    host: str
    process: str
    version: str
    seats: int
    time_out: timedelta


@dataclass(frozen=True, slots=True)
class MissingWorker:
    """A worker whose lock is free and whose end is not recorded yet."""

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
    """Hold *number* while *session* lives; False when another worker has it."""
    held: bool = await session.fetchval("SELECT pg_try_advisory_lock($1, $2)", _LOCK_SPACE, number)
    return held


async def holds_lock(session: asyncpg.Connection, number: WorkerNumber) -> bool:
    """The heartbeat: whether the server still has *session*, which means that the worker is alive."""
    held: bool = await session.fetchval(f"SELECT $1 IN ({_ALIVE} AND pid = pg_backend_pid())", number)
    return held


async def register(connection: Connection, number: WorkerNumber, who: WorkerIdentity) -> None:
    """Record who holds *number*; call only while its lock is held."""
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
    """The workers alive, with their numbers of seats."""
    rows = await connection.fetch(f"SELECT number, seats FROM workers WHERE ended_at IS NULL AND number IN ({_ALIVE})")
    return {WorkerNumber(row["number"]): row["seats"] for row in rows}


async def serves(connection: Connection, account: AccountId) -> bool:
    """Whether a living worker serves *account* now."""
    served: bool = await connection.fetchval(f"SELECT $1 IN ({SERVED})", account)
    return served


async def server_up_for(connection: Connection) -> timedelta:
    """For how long locks could be held: since the server started, or restarted after a crash of one of its processes.

    Only a privileged role can read the second instant; other roles use the first.
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


async def missing(connection: Connection) -> list[MissingWorker]:
    """Workers that ended without notice."""
    rows = await connection.fetch(
        f"""
        SELECT number, name, sessions, host, process, time_out, beat_at, clock_now() AS now,
            EXISTS (SELECT FROM pg_stat_activity s WHERE s.application_name = w.sessions || ' listens') AS session_open
        FROM workers w
        WHERE ended_at IS NULL AND number NOT IN ({_ALIVE})
        """
    )
    return [MissingWorker(**dict(row)) for row in rows]


async def end(connection: Connection, number: WorkerNumber, ending: WorkerEnding) -> bool:
    """Record how a worker ended, once, with its event; False when another worker already did."""
    name = await _end(connection, number, ending)
    if name is not None:
        await feed.record(connection, name, _ENDED[ending]())
    return name is not None


async def renumber(connection: Connection, old: WorkerNumber, new: WorkerNumber, who: WorkerIdentity) -> None:
    """Record that a worker that lost its session continues under a new number, whose lock it holds."""
    await register(connection, new, who)
    await _end(connection, old, WorkerEnding.LEFT)
    await feed.record(connection, who.name, WorkerCameBack())


async def _end(connection: Connection, number: WorkerNumber, ending: WorkerEnding) -> str | None:
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
    """End the open sessions of an ended worker: a frozen one may hold row locks that no time-out ends."""
    await connection.execute(
        """
        SELECT pg_terminate_backend(pid)
        FROM pg_stat_activity
        WHERE application_name IN ($1, $1 || ' lives', $1 || ' listens') AND datname = current_database()
        """,
        sessions,
    )
