"""How far the work on a set is, told to whoever watches."""

from __future__ import annotations

import structlog

from tidegate.clock import Clock
from tidegate.store import feed
from tidegate.store.contents import Taken
from tidegate.store.database import Database

log = structlog.get_logger()

TELL_EVERY = 1.0


class Progress:
    """The bytes of a set that were moved, told at most once a second as log line and event."""

    def __init__(self, database: Database, clock: Clock, taken: Taken) -> None:
        self._database = database
        self._clock = clock
        self._taken = taken
        self._doing = ""
        self._name = ""
        self._done = self._size = 0
        self._told_at = clock.ticks()

    def begin(self, doing: str, name: str, *, size: int, done: int) -> None:
        """From now on *doing* this with a file, of which *done* bytes were moved before."""
        self._doing, self._name, self._size, self._done = doing, name, size, done

    async def add(self, count: int) -> None:
        """So many bytes more."""
        self._done += count
        now = self._clock.ticks()
        if now - self._told_at < TELL_EVERY:
            return
        self._told_at = now
        told = {
            "archive": self._taken.archive,
            "channel": self._taken.channel,
            "doing": self._doing,
            "file": self._name,
            "done": self._done,
            "size": self._size,
        }
        log.info("archive.progressed", **told)
        async with self._database.transaction() as connection:
            await feed.record(connection, "archive.progressed", self._taken.name, told)
