"""Live updates for open pages: one reader of the feed per process serves every open page.

A page learns which families of events happened (``account``, ``cycle``, ``run`` …) and reloads the parts that show
them. It gets at most four messages a second. The message's id is the position in the feed. A browser that lost its
connection asks for what came after it, from any process. A chat also hears which of its messages changed
(``chat_changes.py``).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from tidegate.access.queries import page_sessions
from tidegate.core.ids import ChannelKey
from tidegate.database.pool import AWAY, Database
from tidegate.events.kinds.reminders import ReminderFired
from tidegate.events.queries import feed
from tidegate.events.queries.feed import START, Event, FeedCursor
from tidegate.web.live.chat_changes import ChatChanges

EVERY = 0.25
HEARTBEAT = 15.0
LOOKED_AFTER_EVERY = 5.0  # seconds: whether those who listen are still signed in, in one query for all of them
_LASTS = 600.0  # then the browser reconnects, and its session is checked again
_BEHIND = 20  # unread messages of a page before it is disconnected; it reconnects and gets them as one
_AT_ONCE = 20  # pages served before the loop does other work
_MISSED = 10  # pages of the feed that are searched for what a page missed; beyond, it reloads everything
_BEAT = b":\n\n"

STREAMS_A_SESSION = 32
"""Open streams of one browser; a further one replaces the oldest, which reconnects."""


@dataclass(slots=True)
class EventBatch:
    """What happened since the last message to the pages."""

    cursor: FeedCursor = START
    families: set[str] = field(default_factory=set)
    notices: list[dict[str, Any]] = field(default_factory=list)
    all: bool = False

    def add(self, events: list[Event]) -> None:
        self.cursor = events[-1].cursor if events else self.cursor
        self.families |= {event.kind.partition(".")[0] for event in events}
        self.notices += [
            {"cursor": str(event.cursor), "title": event.subject, "body": fired.body}
            for event in events
            if event.kind == ReminderFired.kind and isinstance(fired := event.parsed(), ReminderFired)
        ]

    def message(self) -> bytes:
        """The batch in the format of server-sent events."""
        data = json.dumps({"families": sorted(self.families), "told": self.notices, "all": self.all})
        return f"id: {self.cursor}\nevent: news\ndata: {data}\n\n".encode()


class EventStream:
    """Sends live updates to open pages; it reads the feed only while a page is open."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pages: dict[asyncio.Queue[bytes | None], str] = {}  # each with the secret of its session
        self._work: asyncio.Task[None] | None = None
        self._chats = ChatChanges(database, self._put_chat)

    async def stream(
        self, secret: str, *, after: FeedCursor | None = None, chat: ChannelKey | None = None
    ) -> AsyncIterator[bytes]:
        """Messages for one page of a session, from *after* on, or from now; a *chat* also hears what changed in it.

        It ends with the session, and regularly, so that the browser reconnects.
        """
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(_BEHIND)
        ending = asyncio.get_running_loop().call_later(_LASTS, _end, queue)
        try:
            await self._open(queue, secret)
            yield b"retry: 1000\n\n"
            if chat is not None:
                self._chats.open(queue, chat)
            if after is not None and (missed := await self._since(after)) is not None:
                yield missed.message()
            while (message := await queue.get()) is not None:
                yield message
        finally:
            ending.cancel()
            self._pages.pop(queue, None)
            self._chats.close(queue)
            if not self._pages:
                self._stop()

    def close(self) -> None:
        """End every stream, because the process ends."""
        self._stop()
        self._chats.stop()
        for queue in self._pages:
            _put(queue, None)

    async def _open(self, queue: asyncio.Queue[bytes | None], secret: str) -> None:
        self._pages[queue] = secret
        own = [page for page, session in self._pages.items() if session == secret]
        for oldest in own[:-STREAMS_A_SESSION]:
            self._pages.pop(oldest)
            _end(oldest)
        if self._work is None or self._work.done():
            async with self._database.connection() as connection:
                begin = await feed.latest(connection)
            if self._work is None or self._work.done():
                self._work = asyncio.create_task(self._run(begin))

    def _stop(self) -> None:
        if self._work is not None:
            self._work.cancel()
            self._work = None

    async def _run(self, begin: FeedCursor) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._tell(begin))
            group.create_task(self._beat())
            group.create_task(self._look_after())

    async def _tell(self, begin: FeedCursor) -> None:
        """Read the feed; events that come too soon after a message are sent together with the next one."""
        batch = EventBatch()
        async with aclosing(feed.follow_pages(self._database, begin)) as pages:
            async for events in pages:
                batch.add(events)
                if batch.families and len(events) < feed.PAGE:
                    await self._spread(batch.message())
                    batch = EventBatch()
                    await asyncio.sleep(EVERY)

    async def _beat(self) -> None:
        """A heartbeat, so that no proxy between here and the browser takes the connection for dead."""
        while True:
            await asyncio.sleep(HEARTBEAT)
            await self._spread(_BEAT)

    async def _spread(self, message: bytes) -> None:
        """Send the same bytes to every page, some pages at a time; a page that does not read them is disconnected."""
        for number, queue in enumerate(list(self._pages), start=1):
            if not _put(queue, message):
                self._pages.pop(queue, None)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)

    def _put_chat(self, queue: asyncio.Queue[bytes | None], message: bytes) -> None:
        if queue in self._pages and not _put(queue, message):
            self._pages.pop(queue, None)

    async def _look_after(self) -> None:
        """End the streams of ended sessions, also if they were ended by another process."""
        while True:
            await asyncio.sleep(LOOKED_AFTER_EVERY)
            listening = dict(self._pages)
            try:
                async with self._database.connection() as connection:
                    good = await page_sessions.still_good(connection, set(listening.values()))
            except AWAY:  # then nothing is sent either, and it is tried again
                continue
            for queue, secret in listening.items():
                if secret not in good:
                    _end(queue)

    async def _since(self, after: FeedCursor) -> EventBatch | None:
        """All that a page missed, as one batch; a page that missed too much is asked to reload everything."""
        batch = EventBatch(after)
        async with self._database.connection() as connection:
            for _ in range(_MISSED):
                events = await feed.read(connection, batch.cursor)
                batch.add(events)
                if len(events) < feed.PAGE:
                    return batch if batch.families else None
            return EventBatch(await feed.latest(connection), all=True)


def _put(queue: asyncio.Queue[bytes | None], message: bytes | None) -> bool:
    """Queue a message for a page; one that has too many unread is disconnected instead."""
    if queue.full():
        _end(queue)
        return False
    queue.put_nowait(message)
    return True


def _end(queue: asyncio.Queue[bytes | None]) -> None:
    """Disconnect a page; what it has not read by then is dropped."""
    while not queue.empty():
        queue.get_nowait()
    queue.put_nowait(None)
