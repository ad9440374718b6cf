"""A clock the test holds, and a database that goes by it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime

from tidegate.clock import HeldClock
from tidegate.loopback import held
from tidegate.store.database import Database

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

in_use = held.in_use


def holding(database: Database, start: datetime = NOON) -> AbstractAsyncContextManager[HeldClock]:
    """A held clock that the database follows, from noon on where nothing else is said."""
    return held.holding(database, start)
