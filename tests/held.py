"""A clock the test holds, and a database that goes by it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime

from tidegate.core.clock import HeldClock
from tidegate.database.pool import Database
from tidegate.loopback import database_clock

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

in_use = database_clock.in_use


def holding(database: Database, start: datetime = NOON) -> AbstractAsyncContextManager[HeldClock]:
    """A held clock that the database follows, from noon on where nothing else is said."""
    return database_clock.holding(database, start)


async def set_wall(clock: HeldClock, now: datetime) -> None:
    """Let the time of day jump, as an operator or a time server does; nobody's sleep is shortened by it."""
    clock._now = now
    await clock._tell()
