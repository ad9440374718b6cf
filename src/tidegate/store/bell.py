"""Tells readers of the feed that there is something new, without slowing the transactions that recorded it.

``NOTIFY`` inside a busy transaction halves the throughput of everybody's commits, so nobody does it there. A
transaction that recorded an event rings its process's bell once it is committed, and the bell sends one empty
``NOTIFY`` for all that happened within a tenth of a second. Losing one costs a reader at most its next poll.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import asyncpg
import structlog

CHANNEL = "tidegate_feed"
_QUIET_FOR = 0.1
_GIVE_UP_AFTER = 1.0

_log = structlog.get_logger(__name__)

_open: dict[Any, bool] = {}
"""Connections inside a transaction that will ring when it commits, and whether it recorded an event so far."""


def mark(connection: Any) -> None:
    """Remember that the transaction open on *connection* recorded an event."""
    if connection in _open:
        _open[connection] = True


class Bell:
    """One process's bell; it needs no task of its own while nothing happens."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._rung = False
        self._closing = asyncio.Event()
        self._ringing: asyncio.Task[None] | None = None

    @contextmanager
    def after_commit(self, connection: Any) -> Iterator[None]:
        """Ring when the block around a transaction on *connection* ends well and an event was recorded in it."""
        _open[connection] = False
        try:
            yield
        finally:
            recorded = _open.pop(connection)
        if recorded:
            self.ring()

    def ring(self) -> None:
        """Tell every reader, now or within a tenth of a second; returns at once."""
        self._rung = True
        if self._ringing is None or self._ringing.done():
            self._ringing = asyncio.create_task(self._ring_until_quiet())

    async def close(self) -> None:
        """Send what is still due, so that a command's event is heard although the command ends right after it."""
        self._closing.set()
        if self._ringing is not None:
            await self._ringing

    async def _ring_until_quiet(self) -> None:
        while self._rung:
            self._rung = False
            await self._notify()
            with suppress(TimeoutError):
                async with asyncio.timeout(_QUIET_FOR):
                    await self._closing.wait()

    async def _notify(self) -> None:
        try:
            async with asyncio.timeout(_GIVE_UP_AFTER), self._pool.acquire(timeout=_GIVE_UP_AFTER) as connection:
                await connection.execute(f"NOTIFY {CHANNEL}")
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as problem:  # TimeoutError is an OSError
            _log.debug("feed.bell_not_sent", next="readers poll", problem=str(problem) or type(problem).__name__)
