"""The connections of web clients: their limit, their time limits, and which one is ended when there are too many.

Clients that the server waits for are in a queue. When one connection too many is opened, the address with the most
waiting connections loses its oldest one. So idle connections cannot lock out other addresses. Behind a proxy all share
one address, and idle ones are ended once they are the oldest.
"""

from __future__ import annotations

import asyncio
from collections import Counter as Counted
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import NoReturn, Protocol

import structlog
from prometheus_client import Counter, Gauge

from tidegate.app.settings import Settings
from tidegate.core.clock import Clock
from tidegate.web.rules.connection_limits import connection_limit
from tidegate.web.server.open_file_limit import open_file_limit, open_files

LOOK_EVERY = timedelta(seconds=1)
_LOOKS_A_LINE = 10  # an attack is one log line per this many checks
_AT_ONCE = 500  # connections that are looked at before the loop does other work

_OPEN = Gauge("tidegate_web_connections", "Connections that web clients hold.")
_LIMIT = Gauge("tidegate_web_connections_limit", "The most connections that web clients may hold right now.")
_ENDED = Counter(
    "tidegate_web_connections_ended_total",
    "Connections that the server ended: too slow with a head, a body or an answer, or without room for them.",
    ["why"],
)

_log = structlog.get_logger(__name__)


class EndReason(StrEnum):
    """Why the server ended a connection."""

    HEAD = "head"  # the head of its request took too long
    BODY = "body"  # it stalled while sending a body
    ANSWER = "answer"  # it stalled while reading a response
    NO_ROOM = "no_room"  # there are too many connections


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of client connections: their number, and how long a client may take."""

    most: int = 1_000
    head_for: timedelta = timedelta(seconds=10)  # for the head of a request, from the first byte or from connecting
    stall_for: timedelta = timedelta(seconds=30)  # without a byte, while it sends a body or reads a response

    @classmethod
    def of(cls, settings: Settings) -> ConnectionLimits:
        return cls(settings.web_connections, settings.web_header_time_out, settings.web_stall_time_out)


class ClientConnection(Protocol):
    """One connection as its server sees it."""

    address: str

    def check(self, now: float) -> EndReason | None:
        """Why the client is too slow by now, if it is."""

    def end(self, why: EndReason) -> None:
        """Close the connection, even in the middle of a request."""


class ClientConnections:
    """All connections of one server."""

    def __init__(self, limits: ConnectionLimits, clock: Clock) -> None:
        self.limits = limits
        self.clock = clock
        self._open: set[ClientConnection] = set()
        self._waiting: dict[str, dict[ClientConnection, None]] = {}  # by address, those that have waited longest first
        self._ended: Counted[EndReason] = Counted()
        self._limit = limits.most
        self._measure()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, client: ClientConnection) -> None:
        """A client has connected; at the limit a waiting connection is ended, in the worst case this one."""
        self._open.add(client)
        self.wait_for(client)
        self._make_room()

    def remove(self, client: ClientConnection) -> None:
        """A connection has ended; it may be removed already."""
        self._open.discard(client)
        self.work_for(client)

    def wait_for(self, client: ClientConnection) -> None:
        """The server now waits for the client: to send something, or to read its response."""
        self.work_for(client)
        if client in self._open:
            self._waiting.setdefault(client.address, {})[client] = None

    def work_for(self, client: ClientConnection) -> None:
        """The client now waits for the server."""
        waiting = self._waiting.get(client.address, {})
        waiting.pop(client, None)
        if not waiting:
            self._waiting.pop(client.address, None)

    async def watch(self) -> NoReturn:
        """Every second, end slow connections and adjust the limit to the open files of the worker."""
        looks = 0
        while True:
            await self.clock.sleep(LOOK_EVERY)
            self._measure()
            self._make_room()
            for number, client in enumerate(list(self._open), start=1):
                if (why := client.check(self.clock.ticks())) is not None:
                    self._end(client, why)
                if number % _AT_ONCE == 0:
                    await asyncio.sleep(0)
            looks += 1
            if looks % _LOOKS_A_LINE == 0:
                self._tell()

    def _measure(self) -> None:
        elsewhere = max(0, open_files() - len(self._open))
        self._limit = connection_limit(self.limits.most, open_files=open_file_limit(), used_elsewhere=elsewhere)
        _OPEN.set(len(self._open))
        _LIMIT.set(self._limit)

    def _make_room(self) -> None:
        while len(self._open) > self._limit and self._waiting:
            most_of_one = max(self._waiting.values(), key=len)
            self._end(next(iter(most_of_one)), EndReason.NO_ROOM)

    def _end(self, client: ClientConnection, why: EndReason) -> None:
        self.remove(client)
        self._ended[why] += 1
        _ENDED.labels(why.value).inc()
        client.end(why)

    def _tell(self) -> None:
        if self._ended[EndReason.NO_ROOM]:
            _log.warning("web.connections_full", limit=self._limit, open=len(self._open), ended=dict(self._ended))
        self._ended.clear()
