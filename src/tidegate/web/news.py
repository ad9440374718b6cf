"""News for open pages: one reader of the feed in a process, whatever it brings told to every page at once.

A page learns which families of events happened (``account``, ``cycle``, ``run`` …) and loads the parts of it that show
them; it is told at most four times a second. The place in the feed is the message's id, so that a browser which lost
the line asks for what came after it, from this process or from another.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from tidegate.store import feed, sign_ins
from tidegate.store.database import AWAY, Database
from tidegate.store.feed import START, Cursor, Event

EVERY = 0.25
HEARTBEAT = 15.0
LOOKED_AFTER_EVERY = 5.0  # seconds: whether those who listen are still signed in, in one query for all of them
_LASTS = 600.0  # then the browser asks anew, and is looked at anew
_BEHIND = 20  # messages that a page may leave lying before it is let go, to come back for all of them as one
_AT_ONCE = 20  # pages told before the loop does other work
_MISSED = 10  # pages of the feed that are looked through for what a page missed; beyond, it loads everything anew
_BEAT = b":\n\n"


@dataclass(slots=True)
class Batch:
    """What happened since pages were last told."""

    cursor: Cursor = START
    families: set[str] = field(default_factory=set)
    told: list[dict[str, Any]] = field(default_factory=list)
    all: bool = False

    def add(self, events: list[Event]) -> None:
        self.cursor = events[-1].cursor if events else self.cursor
        self.families |= {event.kind.partition(".")[0] for event in events}
        self.told += [
            {"cursor": str(event.cursor), "title": event.subject, "body": str(event.data.get("body", ""))}
            for event in events
            if event.kind == "reminder.fired"
        ]

    def message(self) -> bytes:
        """As server-sent events have it."""
        data = json.dumps({"families": sorted(self.families), "told": self.told, "all": self.all})
        return f"id: {self.cursor}\nevent: news\ndata: {data}\n\n".encode()


class News:
    """Tells open pages what happens; it reads the feed while there is a page, and not otherwise."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pages: dict[asyncio.Queue[bytes | None], str] = {}  # each with the secret of its session
        self._work: asyncio.Task[None] | None = None

    async def stream(self, secret: str, *, after: Cursor | None = None) -> AsyncIterator[bytes]:
        """Messages for one page of a session, from *after* on, or from now.

        It ends with the session, and now and then, so that the browser asks anew.
        """
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(_BEHIND)
        ending = asyncio.get_running_loop().call_later(_LASTS, _end, queue)
        try:
            await self._open(queue, secret)
            yield b"retry: 1000\n\n"
            if after is not None and (missed := await self._since(after)) is not None:
                yield missed.message()
            while (message := await queue.get()) is not None:
                yield message
        finally:
            ending.cancel()
            self._pages.pop(queue, None)
            if not self._pages:
                self._stop()

    def close(self) -> None:
        """End every stream, because the process ends."""
        self._stop()
        for queue in self._pages:
            _put(queue, None)

    async def _open(self, queue: asyncio.Queue[bytes | None], secret: str) -> None:
        self._pages[queue] = secret
        if self._work is None or self._work.done():
            async with self._database.connection() as connection:
                begin = await feed.latest(connection)
            if self._work is None or self._work.done():
                self._work = asyncio.create_task(self._run(begin))

    def _stop(self) -> None:
        if self._work is not None:
            self._work.cancel()
            self._work = None

    async def _run(self, begin: Cursor) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._tell(begin))
            group.create_task(self._beat())
            group.create_task(self._look_after())

    async def _tell(self, begin: Cursor) -> None:
        """Whatever comes; what comes while pages may not be told again yet is read when they may, all of it at once."""
        batch = Batch()
        async with aclosing(feed.follow_pages(self._database, begin)) as pages:
            async for events in pages:
                batch.add(events)
                if batch.families and len(events) < feed.PAGE:
                    await self._spread(batch.message())
                    batch = Batch()
                    await asyncio.sleep(EVERY)

    async def _beat(self) -> None:
        """A sign of life now and then, so that nobody between here and the browser takes the line for dead."""
        while True:
            await asyncio.sleep(HEARTBEAT)
            await self._spread(_BEAT)

    async def _spread(self, message: bytes) -> None:
        """The same bytes for every page, some pages at a time; one that does not take them is let go."""
        for number, queue in enumerate(list(self._pages), start=1):
            if not _put(queue, message):
                self._pages.pop(queue, None)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)

    async def _look_after(self) -> None:
        """End the streams of those who signed out, or were signed out, in this process or another."""
        while True:
            await asyncio.sleep(LOOKED_AFTER_EVERY)
            listening = dict(self._pages)
            try:
                async with self._database.connection() as connection:
                    good = await sign_ins.still_good(connection, set(listening.values()))
            except AWAY:  # then nothing is told either, and it is asked again
                continue
            for queue, secret in listening.items():
                if secret not in good:
                    _end(queue)

    async def _since(self, after: Cursor) -> Batch | None:
        """All that a page missed, as one batch; of one that missed very much, only that it did."""
        batch = Batch(after)
        async with self._database.connection() as connection:
            for _ in range(_MISSED):
                events = await feed.read(connection, batch.cursor)
                batch.add(events)
                if len(events) < feed.PAGE:
                    return batch if batch.families else None
            return Batch(await feed.latest(connection), all=True)


def _put(queue: asyncio.Queue[bytes | None], message: bytes | None) -> bool:
    """Leave a message for a page; when it has not taken its earlier ones, it gets the end instead."""
    if queue.full():
        _end(queue)
        return False
    queue.put_nowait(message)
    return True


def _end(queue: asyncio.Queue[bytes | None]) -> None:
    """Let a page go; what it has not taken by then it is not told."""
    while not queue.empty():
        queue.get_nowait()
    queue.put_nowait(None)
