"""A session of its own that listens to the notifications of one PostgreSQL channel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tidegate.database.pool import Database


@dataclass(slots=True)
class Listener:
    """Receives notifications; *lost* when its connection is closed and must be opened again."""

    notified: asyncio.Event = field(default_factory=asyncio.Event)
    payloads: list[str] = field(default_factory=list)
    lost: bool = False

    def take(self) -> list[str]:
        """What the notifications said that came since the last call of this; empty ones say nothing."""
        self.notified.clear()
        taken, self.payloads = self.payloads, []
        return taken

    def _lose(self, _: object) -> None:
        self.lost = True
        self.notified.set()

    def _notify(self, _connection: object, _process: int, _channel: str, payload: object) -> None:
        if payload:
            self.payloads.append(str(payload))
        self.notified.set()


@asynccontextmanager
async def listening(database: Database, channel: str, name: str) -> AsyncIterator[Listener]:
    """Listen to *channel* in the block, in a session under *name*."""
    listener = Listener()
    connection = await database.direct(name)
    try:
        connection.add_termination_listener(listener._lose)
        await connection.add_listener(channel, listener._notify)
        yield listener
    finally:
        connection.terminate()
