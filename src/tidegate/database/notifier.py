"""Notifies readers of new events and of changed messages, without slowing the transactions that made them.

``NOTIFY`` inside a busy transaction halves the throughput of all commits on the server. So the notifier sends it after
the commit: once for all of a tenth of a second. Losing one delays a reader until its next poll.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import structlog

from tidegate.core.ids import ChannelKey, MessageId

CHANNEL = "tidegate_feed"
MESSAGES = "tidegate_messages"
_QUIET_FOR = 0.1
_GIVE_UP_AFTER = 1.0
_NAMED = 300  # changed messages of a channel that are named at once: a notification has at most 8,000 bytes
_MANY = "*"

_log = structlog.get_logger(__name__)

Changes = dict[ChannelKey, frozenset[MessageId] | None]
"""Which messages of which channels were stored, changed or deleted; None is for too many to name."""


@dataclass(slots=True)
class _Made:
    """What a transaction made: events, and changes of messages."""

    events: bool = False
    messages: defaultdict[ChannelKey, set[MessageId]] = field(default_factory=lambda: defaultdict(set))


_open: dict[Any, _Made] = {}
"""Connections inside a transaction whose commit is watched, and what it made so far."""


def mark(connection: Any) -> None:
    """Remember that the transaction open on *connection* recorded an event."""
    if connection in _open:
        _open[connection].events = True


def mark_messages(connection: Any, key: ChannelKey, messages: Iterable[MessageId]) -> None:
    """Remember that the transaction open on *connection* stored, changed or deleted these messages of a channel."""
    if connection in _open and (changed := set(messages)):
        _open[connection].messages[key] |= changed


def read_changes(payloads: Iterable[str]) -> Changes:
    """Notifications about messages as the notifier wrote them."""
    found: Changes = {}
    for payload in payloads:
        channel, _, written = payload.partition(" ")
        key = ChannelKey(int(channel))
        known = found.get(key, frozenset())
        named = None if written == _MANY else frozenset(MessageId(int(one)) for one in written.split())
        found[key] = None if known is None or named is None else known | named
    return found


class Notifier:
    """Sends the notifications of one process; it has no task while nothing happens."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._due = _Made()
        self._closing = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None

    @contextmanager
    def after_commit(self, connection: Any) -> Iterator[None]:
        """Notify when the block around a transaction on *connection* succeeds and made something."""
        _open[connection] = _Made()
        try:
            yield
        finally:
            made = _open.pop(connection)
        self._due.events |= made.events
        for key, messages in made.messages.items():
            self._due.messages[key] |= messages
        if made.events or made.messages:
            self._send_soon()

    def notify(self) -> None:
        """Notify every reader of events, now or within a tenth of a second; returns at once."""
        self._due.events = True
        self._send_soon()

    async def close(self) -> None:
        """Send what is still due: a command may end right after it recorded an event."""
        self._closing.set()
        if self._sending is not None:
            await self._sending

    def _send_soon(self) -> None:
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_until_quiet())

    async def _send_until_quiet(self) -> None:
        while self._due.events or self._due.messages:
            due, self._due = self._due, _Made()
            await self._send(due)
            with suppress(TimeoutError):
                async with asyncio.timeout(_QUIET_FOR):
                    await self._closing.wait()

    async def _send(self, due: _Made) -> None:
        try:
            async with asyncio.timeout(_GIVE_UP_AFTER), self._pool.acquire(timeout=_GIVE_UP_AFTER) as connection:
                if due.events:
                    await connection.execute(f"NOTIFY {CHANNEL}")
                if due.messages:
                    payloads = [_payload(key, messages) for key, messages in due.messages.items()]
                    await connection.execute("SELECT pg_notify($1, p) FROM unnest($2::text[]) AS p", MESSAGES, payloads)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as problem:  # TimeoutError is an OSError
            _log.debug("feed.bell_not_sent", next="readers poll", problem=str(problem) or type(problem).__name__)


def _payload(key: ChannelKey, messages: set[MessageId]) -> str:
    named = _MANY if len(messages) > _NAMED else " ".join(str(one) for one in sorted(messages))
    return f"{key} {named}"
