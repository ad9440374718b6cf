"""Notifies readers of the feed of new events, without slowing the transactions that recorded them.

``NOTIFY`` inside a busy transaction halves the throughput of all commits on the server. So the notifier sends it after
the commit: one empty ``NOTIFY`` for all events of a tenth of a second. Losing one delays a reader until its next poll.
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
"""Connections inside a transaction whose commit is watched, and whether it recorded an event so far."""


def mark(connection: Any) -> None:
    """Remember that the transaction open on *connection* recorded an event."""
    if connection in _open:
        _open[connection] = True


class Notifier:
    """Sends the notifications of one process; it has no task while nothing happens."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._due = False
        self._closing = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None

    @contextmanager
    def after_commit(self, connection: Any) -> Iterator[None]:
        """Notify when the block around a transaction on *connection* succeeds and an event was recorded in it."""
        _open[connection] = False
        try:
            yield
        finally:
            recorded = _open.pop(connection)
        if recorded:
            self.notify()

    def notify(self) -> None:
        """Notify every reader, now or within a tenth of a second; returns at once."""
        self._due = True
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_until_quiet())

    async def close(self) -> None:
        """Send what is still due: a command may end right after it recorded an event."""
        self._closing.set()
        if self._sending is not None:
            await self._sending

    async def _send_until_quiet(self) -> None:
        while self._due:
            self._due = False
            await self._send()
            with suppress(TimeoutError):
                async with asyncio.timeout(_QUIET_FOR):
                    await self._closing.wait()

    async def _send(self) -> None:
        try:
            async with asyncio.timeout(_GIVE_UP_AFTER), self._pool.acquire(timeout=_GIVE_UP_AFTER) as connection:
                await connection.execute(f"NOTIFY {CHANNEL}")
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as problem:  # TimeoutError is an OSError
            _log.debug("feed.bell_not_sent", next="readers poll", problem=str(problem) or type(problem).__name__)
