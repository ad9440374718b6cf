"""A reader of the feed misses nothing and hears nothing twice, whatever writers do and however often it restarts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from tests.recorded_events import unknown_event
from tests.waiting import PATIENCE
from tidegate.database.pool import Address, Database
from tidegate.events.queries import feed
from tidegate.events.queries.feed import START, FeedCursor

pytestmark = pytest.mark.story

WRITERS = 20
TRANSACTIONS_EACH = 15
QUIET_FOR = 3  # seconds without news, after which a reader looks whether all is over


class ChangedItsMind(Exception):
    """A writer rolls its transaction back."""


@dataclass
class Writers:
    """Twenty of them on one pool, and what each knows it committed."""

    database: Database
    committed: set[str] = field(default_factory=set)
    rolled_back: set[str] = field(default_factory=set)

    async def write_all(self, naive: NaiveReader) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._write_slowly(naive))
            for writer in range(WRITERS - 1):
                group.create_task(self._write(writer))

    async def _write(self, writer: int) -> None:
        for turn in range(TRANSACTIONS_EACH):
            told = [f"{writer}.{turn}.{part}" for part in range(random.randint(1, 3))]
            with suppress(ChangedItsMind):
                async with self.database.transaction() as connection:
                    for subject in told:
                        await feed.record(connection, subject, unknown_event())
                        await asyncio.sleep(random.choice((0, 0, 0.002, 0.02)))  # others commit meanwhile
                    if random.random() < 0.2:
                        self.rolled_back.update(told)
                        raise ChangedItsMind
                self.committed.update(told)

    async def _write_slowly(self, naive: NaiveReader) -> None:
        """Commits only after a reader by number has gone past the number it drew."""
        async with self.database.transaction() as connection:
            await feed.record(connection, "slow", unknown_event())
            await naive.gone_past(await connection.fetchval("SELECT max(id) FROM events WHERE subject = 'slow'"))
        self.committed.add("slow")


class NaiveReader:
    """What most programs do: everything with a number greater than the last one seen."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._last = 0
        self._moved = asyncio.Condition()
        self.seen: list[str] = []

    async def read_forever(self) -> None:
        while True:
            rows = await self._database.pool.fetch(
                "SELECT id, subject FROM events WHERE id > $1 ORDER BY id", self._last
            )
            self.seen += [row["subject"] for row in rows]
            async with self._moved:
                self._last = max((row["id"] for row in rows), default=self._last)
                self._moved.notify_all()
            await asyncio.sleep(0.005)

    async def gone_past(self, number: int) -> None:
        async with self._moved:
            await self._moved.wait_for(lambda: self._last > number)


class RestartingReader:
    """Reads a few events, is gone, and comes back with nothing but the cursor it wrote down."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self.seen: list[str] = []
        self.cursor = str(START)
        self.restarts = 0

    async def read_until(self, done: asyncio.Event, writers: Writers) -> None:
        while not (done.is_set() and len(self.seen) >= len(writers.committed)):
            async with _process(self._address) as database:
                await self._one_life(database, random.randint(1, 60))
            self.restarts += 1

    async def _one_life(self, database: Database, events: int) -> None:
        with suppress(TimeoutError):  # a life also ends when nothing comes, so that the end is noticed
            async with aclosing(feed.follow(database, FeedCursor.parse(self.cursor), page=7)) as following:
                for _ in range(events):
                    async with asyncio.timeout(QUIET_FOR):
                        event = await anext(following)
                    self.seen.append(event.subject)
                    self.cursor = str(event.cursor)


@asynccontextmanager
async def _process(address: Address, *, connections: int = 2) -> AsyncIterator[Database]:
    opened = await Database.open(address, connections=connections)
    try:
        yield opened
    finally:
        await opened.close()


async def test_a_reader_misses_no_event(database: Database, address: Address) -> None:
    """Twenty writers, delayed and reordered commits, some rolled back; by the writers' own record all is told once.

    Numbers are drawn when an event is recorded and seen when it is committed. A reader by number that has met 8 has
    passed 7 for good when 7 commits late: the naive reader of the same run shows it. The cursor (transaction, number)
    holds 8 back until 7 is decided.
    """
    done = asyncio.Event()
    naive = NaiveReader(database)
    reader = RestartingReader(address)
    async with _process(address, connections=WRITERS) as pool:
        writers = Writers(pool)
        by_number = asyncio.create_task(naive.read_forever())
        by_cursor = asyncio.create_task(reader.read_until(done, writers))
        async with asyncio.timeout(PATIENCE):
            await writers.write_all(naive)
        done.set()
        await asyncio.wait([by_cursor], timeout=PATIENCE)
        for task in (by_number, by_cursor):
            task.cancel()
        await asyncio.wait([by_number, by_cursor])

    assert sorted(reader.seen) == sorted(writers.committed)
    assert reader.restarts > 3
    assert writers.rolled_back
    assert writers.committed - set(naive.seen), "the naive reader lost nothing, so this run has proven nothing"
    assert "slow" not in naive.seen
