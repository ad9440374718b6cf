"""The feed: all events, in an order in which a reader that resumes after a cursor misses none.

Numbers drawn from a sequence do not commit in order: event 7 can become visible after event 8, and a reader that asked
for "everything after 8" never sees it. So an event also stores its transaction. A reader takes only events of
transactions older than every running one, in the order (transaction, number). That pair is the cursor.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import structlog
from prometheus_client import Gauge

from tidegate.core.errors import BadInput
from tidegate.database.listener import listening
from tidegate.database.notifier import CHANNEL, mark
from tidegate.database.pool import AWAY, Connection, Database
from tidegate.database.storable_connection import json_text
from tidegate.events.event_data import EventData
from tidegate.events.kinds import parse

PAGE = 500
_POLL_AFTER = 1.0
_ANSWER_WITHIN = 10.0
_LOOK_AGAIN_AFTER = 0.05
_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds to wait after the first, second … failure in a row to reach the database; the last one is repeated."""

_log = structlog.get_logger(__name__)

_LAG = Gauge("tidegate_feed_lag_seconds", "Age of the oldest event that a running transaction hides from the readers.")


@dataclass(frozen=True, slots=True, order=True)
class FeedCursor:
    """A place in the feed; readers resume after it."""

    tx: int
    id: int

    @classmethod
    def parse(cls, text: str) -> FeedCursor:
        """Read the form that ``str`` writes, which is also what ``Last-Event-ID`` carries."""
        found = re.fullmatch(r"(\d{1,20})-(\d{1,19})", text, re.ASCII)
        if found is None or int(found[1]) >= 2**64 or int(found[2]) >= 2**63:
            raise BadInput(
                f"The cursor {text!r} is none of this feed; "
                'give one as an event shows it, such as "812-40", or leave it out to start at the oldest event.'
            )
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.tx}-{self.id}"


START = FeedCursor(0, 0)
"""Before the oldest event."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to *subject*."""

    cursor: FeedCursor
    at: datetime
    kind: str
    subject: str
    data: Mapping[str, Any]

    def parsed(self) -> EventData | None:
        """Its data as the class of its kind; None for one that this release does not know."""
        return parse(self.kind, self.data)

    def as_json(self) -> dict[str, Any]:
        return {
            "cursor": str(self.cursor),
            "at": self.at.isoformat(),
            "kind": self.kind,
            "subject": self.subject,
            "data": self.data,
        }


async def record(connection: Connection, subject: str, event: EventData) -> None:
    """Store an event in the caller's transaction, so that it is visible exactly when its change is."""
    await connection.execute(
        "INSERT INTO events (kind, subject, data) VALUES ($1, $2, $3::text::jsonb)",
        event.kind, subject, json_text(event.as_json()),
    )  # fmt: skip
    mark(connection)


# A restore stores its events with transaction 0, because transaction numbers of the old server mean nothing on the new
# one. For a cursor of the old server the event's number decides among them (first branch). If its transaction is in the
# new server's future, it is before everything that the new server recorded (second branch).
_PAGE = """
SELECT tx, id, at, kind, subject, data
FROM (
    (SELECT * FROM events WHERE tx = '0' AND id > $2 {seen} ORDER BY tx, id LIMIT $3)
    UNION ALL
    (SELECT * FROM events
     WHERE (tx, id) > (CASE WHEN $1 < pg_snapshot_xmax(pg_current_snapshot()) THEN $1 ELSE '0' END, $2)
       AND tx > '0'
       AND tx < pg_snapshot_xmin(pg_current_snapshot()) {seen}
     ORDER BY tx, id LIMIT $3)
) AS after_cursor
ORDER BY tx, id
LIMIT $3
"""
_PRIVATE = "(SELECT number::text FROM channels WHERE private_to IS NOT NULL)"
# The key of a rate limit may be a chat, or end with one. Apart, each list of chats is made once for all events.
_NOT_PRIVATE = f"""
    AND coalesce(data ->> 'channel', '') NOT IN {_PRIVATE}
    AND coalesce(substring(data ->> 'key' FROM '[0-9]+$'), '') NOT IN {_PRIVATE}
"""
_READ, _READ_PUBLIC = _PAGE.format(seen=""), _PAGE.format(seen=_NOT_PRIVATE)


async def read(
    connection: Connection, after: FeedCursor = START, limit: int = PAGE, *, private: bool = True
) -> list[Event]:
    """The next events after *after*, oldest first; without *private*, none about private chats.

    Fewer than *limit* means: no more are visible yet. An event becomes visible when every transaction has ended
    that was running on the server when the event was stored.
    """
    query = _READ if private else _READ_PUBLIC
    return [_event(row) for row in await connection.fetch(query, after.tx, after.id, limit)]


async def read_all(
    database: Database, after: FeedCursor = START, *, page: int = PAGE, wait: timedelta = timedelta(seconds=5)
) -> AsyncGenerator[Event, None]:
    """Every event that was committed when the reading began, and perhaps newer ones.

    Transactions that ran at that moment may hide events for a while, also an ANALYZE of the server itself. It waits
    for them at most *wait*, then ends with what can be read.
    """
    async with database.pool.acquire() as connection:
        begun_at = await connection.fetchval("SELECT pg_snapshot_xmax(pg_current_snapshot())")
    looks = int(wait.total_seconds() / _LOOK_AGAIN_AFTER)
    while True:
        async with database.pool.acquire() as connection:
            complete = await connection.fetchval("SELECT pg_snapshot_xmin(pg_current_snapshot()) >= $1", begun_at)
            events = await read(connection, after, page)
        for event in events:
            after = event.cursor
            yield event
        if len(events) == page:
            continue
        if complete or looks <= 0:
            return
        looks -= 1
        await asyncio.sleep(_LOOK_AGAIN_AFTER)


async def latest(connection: Connection) -> FeedCursor:
    """The newest event's place, to read on "from now"."""
    row = await connection.fetchrow(
        "SELECT tx, id FROM events WHERE tx < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY tx DESC, id DESC LIMIT 1"
    )
    return START if row is None else FeedCursor(row["tx"], row["id"])


async def before_newest(connection: Connection, count: int) -> FeedCursor:
    """The place from which the newest *count* visible events follow."""
    row = await connection.fetchrow(
        "SELECT tx, id FROM events WHERE tx < pg_snapshot_xmin(pg_current_snapshot()) "
        "ORDER BY tx DESC, id DESC OFFSET $1 LIMIT 1",
        count,
    )
    return START if row is None else FeedCursor(row["tx"], row["id"])


async def newest(connection: Connection, limit: int = 20) -> list[Event]:
    """The newest visible events, newest first, without progress events."""
    rows = await connection.fetch(
        """
        SELECT tx, id, at, kind, subject, data
        FROM events
        WHERE tx < pg_snapshot_xmin(pg_current_snapshot()) AND kind NOT LIKE '%.progressed'
        ORDER BY tx DESC, id DESC
        LIMIT $1
        """,
        limit,
    )
    return [_event(row) for row in rows]


async def lag(connection: Connection) -> timedelta:
    """How long the oldest event that readers may not see yet has been waiting."""
    waiting: timedelta | None = await connection.fetchval(
        """
        SELECT clock_now() - at
        FROM events
        WHERE tx >= pg_snapshot_xmin(pg_current_snapshot())
        ORDER BY tx, id
        LIMIT 1
        """
    )
    return max(waiting or timedelta(), timedelta())


async def measure_lag(database: Database, *, within: timedelta = timedelta(seconds=2)) -> None:
    """Set the metric, to "not a number" when the database does not answer in time."""
    try:
        async with database.within(within).connection() as connection:
            _LAG.set((await lag(connection)).total_seconds())
    except AWAY:
        _LAG.set(math.nan)


async def follow(database: Database, after: FeedCursor = START, *, page: int = PAGE) -> AsyncGenerator[Event, None]:
    """Every event after *after*, as soon as it is visible, without end; close it with ``contextlib.aclosing``."""
    async with aclosing(follow_pages(database, after, page=page)) as pages:
        async for events in pages:
            for event in events:
                yield event


async def follow_pages(
    database: Database, after: FeedCursor = START, *, page: int = PAGE
) -> AsyncGenerator[list[Event], None]:
    """The same in pages; a page that is not full or empty ends what is visible by now.

    It waits for notifications, and polls every second besides. While the database is away it tries again and then
    resumes after its cursor, so no event is lost or repeated.
    """
    failures = 0
    while True:
        try:
            async with listening(database, CHANNEL, "tidegate feed") as listener:
                while not listener.lost:
                    listener.take()
                    events = await _read_in_time(database, after, page)
                    failures = 0
                    after = events[-1].cursor if events else after
                    yield events
                    if len(events) < page:
                        await _wait(listener.notified)
        except AWAY as problem:
            pause = _PAUSES[min(failures, len(_PAUSES) - 1)]
            failures += 1
            _log.warning("feed.database_away", next_try_in=pause, problem=str(problem) or type(problem).__name__)
            await asyncio.sleep(pause)


async def _read_in_time(database: Database, after: FeedCursor, limit: int) -> list[Event]:
    """Read, or fail when the server does not answer in time, as after a network failure."""
    async with database.within(timedelta(seconds=_ANSWER_WITHIN)).connection() as connection:
        return await read(connection, after, limit)


async def _wait(notified: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(_POLL_AFTER):
            await notified.wait()
    except TimeoutError:
        return


def _event(row: asyncpg.Record) -> Event:
    return Event(FeedCursor(row["tx"], row["id"]), row["at"], row["kind"], row["subject"], row["data"])
