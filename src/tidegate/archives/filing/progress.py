"""The progress of the work on a set, as log lines and events."""

from __future__ import annotations

import structlog

from tidegate.archives.queries.indexing_queue import TakenSet
from tidegate.core.clock import Clock
from tidegate.database.pool import Database
from tidegate.events.kinds.archives import ArchiveProgressed
from tidegate.events.queries import feed

log = structlog.get_logger()

REPORT_EVERY = 1.0


class FilingProgress:
    """The bytes of a set that were moved, reported at most once a second as log line and event."""

    def __init__(self, database: Database, clock: Clock, taken: TakenSet) -> None:
        self._database = database
        self._clock = clock
        self._taken = taken
        self._doing = ""
        self._name = ""
        self._done = self._size = 0
        self._reported_at = clock.ticks()

    def begin(self, doing: str, name: str, *, size: int, done: int) -> None:
        """Start *doing* this with a file, of which *done* bytes were moved before."""
        self._doing, self._name, self._size, self._done = doing, name, size, done

    async def add(self, count: int) -> None:
        """Add *count* moved bytes."""
        self._done += count
        now = self._clock.ticks()
        if now - self._reported_at < REPORT_EVERY:
            return
        self._reported_at = now
        progressed = ArchiveProgressed(
            archive=self._taken.archive,
            channel=self._taken.channel,
            doing=self._doing,
            file=self._name,
            done=self._done,
            size=self._size,
        )
        log.info(progressed.kind, **progressed.as_json())
        async with self._database.transaction() as connection:
            await feed.record(connection, self._taken.name, progressed)
