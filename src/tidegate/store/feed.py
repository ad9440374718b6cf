"""The feed: what happened, in an order in which nobody who reads on misses anything.

Numbers drawn from a sequence do not commit in order: event 7 can become visible after event 8, and a reader that
asked for "everything after 8" never sees it. So an event also stores its transaction, and a reader takes only events
of transactions older than every one still running, in the order (transaction, number). That pair is the cursor.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import structlog
from prometheus_client import Gauge

from tidegate.errors import BadInput
from tidegate.store.bell import CHANNEL, mark
from tidegate.store.database import AWAY, Connection, Database

PAGE = 500
_POLL_AFTER = 1.0
_ANSWER_WITHIN = 10.0
_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds to wait after the first, second … failure in a row to reach the database; the last one is repeated."""

_log = structlog.get_logger(__name__)

_LAG = Gauge("tidegate_feed_lag_seconds", "Age of the oldest event that a running transaction hides from the readers.")


@dataclass(frozen=True, slots=True, order=True)
class Cursor:
    """A place in the feed; readers resume after it."""

    tx: int
    id: int

    @classmethod
    def parse(cls, text: str) -> Cursor:
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


START = Cursor(0, 0)
"""Before the oldest event."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to *subject*, told in the past tense."""

    cursor: Cursor
    at: datetime
    kind: str
    subject: str
    data: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {
            "cursor": str(self.cursor),
            "at": self.at.isoformat(),
            "kind": self.kind,
            "subject": self.subject,
            "data": self.data,
        }


async def record(connection: Connection, kind: str, subject: str, data: Mapping[str, Any] | None = None) -> None:
    """Write an event in the caller's transaction, so that it is told exactly when the change it tells of is made."""
    await connection.execute(
        "INSERT INTO events (kind, subject, data) VALUES ($1, $2, $3)", kind, subject, dict(data or {})
    )
    mark(connection)


# A restore gives the events it brings the transaction 0, because the numbers of the old server mean nothing on the
# new one. A cursor of the old server is told by its event's number there (first branch), and stands before all that
# the new server recorded when its transaction lies in the new server's future (second branch).
_READ = """
SELECT tx, id, at, kind, subject, data
FROM (
    (SELECT * FROM events WHERE tx = '0' AND id > $2 ORDER BY tx, id LIMIT $3)
    UNION ALL
    (SELECT * FROM events
     WHERE (tx, id) > (CASE WHEN $1 < pg_snapshot_xmax(pg_current_snapshot()) THEN $1 ELSE '0' END, $2)
       AND tx > '0'
       AND tx < pg_snapshot_xmin(pg_current_snapshot())
     ORDER BY tx, id LIMIT $3)
) AS after_cursor
ORDER BY tx, id
LIMIT $3
"""


async def read(connection: Connection, after: Cursor = START, limit: int = PAGE) -> list[Event]:
    """The next events after *after*, oldest first.

    Fewer than *limit* means: no more can be told yet. An event waits until every transaction that was running when
    it was recorded has ended, anywhere on the server.
    """
    return [_event(row) for row in await connection.fetch(_READ, after.tx, after.id, limit)]


async def latest(connection: Connection) -> Cursor:
    """The newest event's place, to read on "from now"."""
    row = await connection.fetchrow(
        "SELECT tx, id FROM events WHERE tx < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY tx DESC, id DESC LIMIT 1"
    )
    return START if row is None else Cursor(row["tx"], row["id"])


async def newest(connection: Connection, limit: int = 20) -> list[Event]:
    """The last events that can be told, newest first, without those that only say how far something is."""
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
        seconds = within.total_seconds()
        async with asyncio.timeout(seconds), database.pool.acquire(timeout=seconds) as connection:
            _LAG.set((await lag(connection)).total_seconds())
    except AWAY:
        _LAG.set(math.nan)


async def follow(database: Database, after: Cursor = START, *, page: int = PAGE) -> AsyncGenerator[Event, None]:
    """Every event after *after*, as soon as it can be told, without end; close it with ``contextlib.aclosing``."""
    async with aclosing(follow_pages(database, after, page=page)) as pages:
        async for events in pages:
            for event in events:
                yield event


async def follow_pages(
    database: Database, after: Cursor = START, *, page: int = PAGE
) -> AsyncGenerator[list[Event], None]:
    """The same in pages, for those who take much at once; one that is not full, or empty, ends what can be told by now.

    Hears the bell, and polls every second besides. While the database is away it tries again and again, and then
    goes on where it was: the place is kept here, so nothing is lost or told twice.
    """
    failures = 0
    while True:
        try:
            async with _hearing(database) as ear:
                while not ear.deaf:
                    ear.news.clear()
                    events = await _read_in_time(database, after, page)
                    failures = 0
                    after = events[-1].cursor if events else after
                    yield events
                    if len(events) < page:
                        await _wait(ear.news)
        except AWAY as problem:
            pause = _PAUSES[min(failures, len(_PAUSES) - 1)]
            failures += 1
            _log.warning("feed.database_away", next_try_in=pause, problem=str(problem) or type(problem).__name__)
            await asyncio.sleep(pause)


@dataclass(slots=True)
class _Ear:
    """What a reader hears of the bell; deaf when its connection is lost, and then it has to be opened anew."""

    news: asyncio.Event
    deaf: bool = False

    def lose(self, _: object) -> None:
        self.deaf = True
        self.news.set()

    def hear(self, *_: object) -> None:
        self.news.set()


@asynccontextmanager
async def _hearing(database: Database) -> AsyncIterator[_Ear]:
    ear = _Ear(asyncio.Event())
    connection = await database.direct("tidegate feed")
    try:
        connection.add_termination_listener(ear.lose)
        await connection.add_listener(CHANNEL, ear.hear)
        yield ear
    finally:
        connection.terminate()


async def _read_in_time(database: Database, after: Cursor, limit: int) -> list[Event]:
    """Read, or fail when a server that was cut off does not even say no."""
    # The pool gives a connection that does not let go of the question the same time again, and then drops it.
    async with asyncio.timeout(_ANSWER_WITHIN), database.pool.acquire(timeout=_ANSWER_WITHIN) as connection:
        return await read(connection, after, limit)


async def _wait(news: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(_POLL_AFTER):
            await news.wait()
    except TimeoutError:
        return


def _event(row: asyncpg.Record) -> Event:
    return Event(Cursor(row["tx"], row["id"]), row["at"], row["kind"], row["subject"], row["data"])
