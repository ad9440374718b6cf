"""Which messages changed, for open chats: one listener per process serves all of them.

A transaction that stores messages notifies after its commit (``database/notifier.py``). A chat receives the numbers
of its channel and reads only those it shows. A chat that was just opened receives what changed since its page.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable

import structlog

from tidegate.core.clock import SystemClock
from tidegate.core.ids import ChannelKey, MessageId
from tidegate.database.listener import listening
from tidegate.database.notifier import MESSAGES, Changes, read_changes
from tidegate.database.pool import AWAY, Database

EVERY = 0.25
REMEMBERED = 30.0
"""Seconds for which changes are remembered for chats that open, and for which it listens on after the last one."""

_AGAIN = 1.0
_NAMED = 300  # changes of a channel that are reported one by one; more are reported as all

Queue = asyncio.Queue[bytes | None]

_log = structlog.get_logger(__name__)
_clock = SystemClock()


class ChatChanges:
    """Reports changes to open chats; it listens only while one is open and for a while after."""

    def __init__(self, database: Database, put: Callable[[Queue, bytes], object]) -> None:
        self._database = database
        self._put = put
        self._chats: dict[Queue, ChannelKey] = {}
        self._recent: list[tuple[float, Changes]] = []
        self._is_listening = False
        self._work: asyncio.Task[None] | None = None
        self._stopping: asyncio.TimerHandle | None = None

    def open(self, queue: Queue, channel: ChannelKey) -> None:
        """Tell *queue* about a channel from now on, and what is known to have changed shortly before."""
        self._chats[queue] = channel
        if self._stopping is not None:
            self._stopping.cancel()
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._follow())
        if self._is_listening:
            self._tell([queue], _together(changes for _, changes in self._recent))

    def close(self, queue: Queue) -> None:
        """A chat was closed."""
        if self._chats.pop(queue, None) is not None and not self._chats:
            self._stopping = asyncio.get_running_loop().call_later(REMEMBERED, self.stop)

    def stop(self) -> None:
        """Stop listening, because no chat is open or the process ends."""
        if self._stopping is not None:
            self._stopping.cancel()
        if self._work is not None:
            self._work.cancel()
            self._work = None
        self._is_listening = False
        self._recent.clear()

    async def _follow(self) -> None:
        while True:
            try:
                await self._listen()
            except AWAY as problem:
                _log.warning("chats.database_away", problem=str(problem) or type(problem).__name__)
            self._is_listening = False
            await asyncio.sleep(_AGAIN)

    async def _listen(self) -> None:
        """Until the session is lost. What changed before it began is not known, so that may be all."""
        async with listening(self._database, MESSAGES, "tidegate chats") as listener:
            self._is_listening = True
            self._recent.clear()
            self._tell(list(self._chats), dict.fromkeys(self._chats.values()))
            while not listener.lost:
                await listener.notified.wait()
                changes, now = read_changes(listener.take()), _clock.ticks()
                self._recent = [(at, some) for at, some in self._recent if at > now - REMEMBERED]
                self._recent.append((now, changes))
                self._tell(list(self._chats), changes)
                await asyncio.sleep(EVERY)

    def _tell(self, queues: Iterable[Queue], changes: Changes) -> None:
        """Tell chats, the same bytes to all chats of a channel."""
        made: dict[ChannelKey, bytes] = {}
        for queue in queues:
            key = self._chats[queue]
            if key not in changes:
                continue
            if key not in made:
                made[key] = _message(changes[key])
            self._put(queue, made[key])


def _together(several: Iterable[Changes]) -> Changes:
    found: Changes = {}
    for changes in several:
        for key, messages in changes.items():
            known = found.get(key, frozenset())
            found[key] = None if known is None or messages is None else known | messages
    return found


def _message(changed: frozenset[MessageId] | None) -> bytes:
    """In the format of server-sent events. Numbers are texts: those of Discord are too large for a browser."""
    every = changed is None or len(changed) > _NAMED
    ids = [] if every or changed is None else [str(one) for one in sorted(changed)]
    return f"event: messages\ndata: {json.dumps({'ids': ids, 'all': every})}\n\n".encode()
