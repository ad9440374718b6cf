"""What a worker may be doing at the moment it is frozen; imported by the frozen worker itself."""

from __future__ import annotations

import asyncio
from functools import partial

from tidegate.accounts.queries import accounts
from tidegate.app.composition import Runtime
from tidegate.core.ids import ChannelId
from tidegate.lanes import Lane
from tidegate.loopback.fleet import Task, keep_looking

HALF_A_GIGABYTE = "SELECT repeat('x', 1000000) FROM generate_series(1, 500)"
LATE = "INSERT INTO events (kind, subject, data) VALUES ('test.late', $1, to_jsonb($2::bigint))"
LOCK = "SELECT pg_advisory_xact_lock(4242)"
NOTE = "INSERT INTO events (kind, subject) VALUES ('test.stands', $1)"


async def in_a_transaction(runtime: Runtime, lane: Lane) -> None:
    """Holds its own account's row locked and never commits."""
    async with runtime.database.transaction() as connection:
        await accounts.fence(connection, lane.claim())
        await runtime.database.pool.execute(NOTE, lane.account.name)
        await connection.execute(LATE, lane.account.name, lane.claim().epoch)
        await asyncio.sleep(3600)


async def in_a_large_answer(runtime: Runtime, lane: Lane) -> None:
    """Holds its account's row locked and is half-way through an answer that fills every buffer between."""
    async with runtime.database.transaction() as connection:
        await accounts.fence(connection, lane.claim())
        await runtime.database.pool.execute(NOTE, lane.account.name)
        await connection.fetch(HALF_A_GIGABYTE)


async def in_a_lock_wait(runtime: Runtime, lane: Lane) -> None:
    """Holds its account's row locked and waits for a lock that the test holds."""
    async with runtime.database.transaction() as connection:
        await accounts.fence(connection, lane.claim())
        await runtime.database.pool.execute(NOTE, lane.account.name)
        await connection.execute(LOCK)
        await connection.execute(LATE, lane.account.name, lane.claim().epoch)


async def between_calls(runtime: Runtime, lane: Lane) -> None:
    """Calls all the time, and so is frozen before, in or after a call."""
    await runtime.database.pool.execute(NOTE, lane.account.name)
    while True:
        await lane.heads([ChannelId(1)])


STATES = {
    "between calls": between_calls,
    "in a transaction": in_a_transaction,
    "in a large answer": in_a_large_answer,
    "in a lock wait": in_a_lock_wait,
}


async def _one_of_many(state: str, runtime: Runtime, lane: Lane) -> None:
    await (STATES[state] if lane.account.name.endswith("-0") else keep_looking)(runtime, lane)


def task(state: str) -> Task:
    """One account of the worker brings it into *state*; the others are looked at all the time."""
    return partial(_one_of_many, state)
