"""uvicorn's HTTP/1.1 protocol with time limits for slow clients."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from enum import Enum, auto
from http import HTTPStatus
from typing import Any

import h11
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from tidegate.core.rules.trusted_proxies import SOCKET, client_group
from tidegate.web.rules.connection_limits import patience_left
from tidegate.web.server.client_connections import ClientConnections, EndReason
from tidegate.web.server.error_responses import problem

LONGEST_HEAD = 16_384
"""Bytes of a request's head, its address included."""

READ_AT_ONCE = 8_192
"""Bytes that are parsed before the loop does other work: a body in chunks of one byte takes 2 µs a byte."""

_REST_FOR = timedelta(seconds=5)
"""How long the rest of a body is discarded after the response; a client that reads it has stopped sending by then."""

_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

NOT_HTTP = "This is not a valid HTTP request, or its address or headers are too long."


class _Awaited(Enum):
    """What the server waits for."""

    HEAD = auto()
    BODY = auto()
    REST = auto()
    TAKE = auto()
    NOTHING = auto()
    """It has its answer and may ask again or not; uvicorn ends the connection after some seconds."""


_LATE = {
    _Awaited.HEAD: EndReason.HEAD,
    _Awaited.BODY: EndReason.BODY,
    _Awaited.REST: EndReason.BODY,
    _Awaited.TAKE: EndReason.ANSWER,
}


class BoundedProtocol(H11Protocol):
    """A connection that ends when its client is too slow."""

    def __init__(self, *arguments: Any, connections: ClientConnections, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.address = ""
        self._connections = connections
        self._awaited: _Awaited | None = None  # None: the server's
        self._begun = True  # bytes of a head are there, or it is due because the client has just connected
        self._left = 0.0  # seconds
        self._checked_at = 0.0
        self._received = 0  # bytes since then
        self._untaken = 0  # bytes of the answer at that time

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that waiting for the client begins with the first byte too many
        transport.max_size = READ_AT_ONCE  # type: ignore[attr-defined]  # what asyncio reads at once
        self.address = client_group(self.client[0] if self.client else SOCKET)
        self._connections.add(self)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._connections.remove(self)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)
        self._begun = True
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._begun = bool(self.conn.trailing_data[0])
        self._look()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP; in the middle of a request the application gets a disconnect."""
        if not self._answered:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._write(problem(HTTPStatus.BAD_REQUEST, NOT_HTTP, {"Connection": "close"}))
            self.transport.close()
        else:
            self.transport.abort()

    def _write(self, answer: Response) -> None:
        """Send an error response of the server itself, in the usual format."""
        head = h11.Response(status_code=answer.status_code, headers=answer.raw_headers)
        for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event))

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look()

    def check(self, now: float) -> EndReason | None:
        """Subtract the time since the last check from the client's remaining time, and add what its bytes earned."""
        self._look()
        waited, self._checked_at = now - self._checked_at, now
        moved = self._moved()
        if self._awaited in (None, _Awaited.NOTHING):
            return None
        most = self._most()
        self._left = patience_left(self._left, most=most, waited=waited, moved=moved)
        if moved and self._left == most:  # it keeps up: others have waited longer
            self._connections.wait_for(self)
        return _LATE[self._awaited] if self._left < 0 else None

    def end(self, why: EndReason) -> None:
        unanswered = self._awaited is _Awaited.HEAD or (
            self._awaited is _Awaited.BODY and not self.cycle.response_started
        )
        if why is not EndReason.NO_ROOM and unanswered and not self.transport.is_closing():
            self.transport.write(_TOO_SLOW)
            self.transport.close()
        else:
            self.transport.abort()

    def _look(self) -> None:
        """Note what the server waits for. A new phase starts with full time."""
        awaited = self._awaited_now()
        if awaited is self._awaited:
            return
        self._awaited = awaited
        self._left, self._checked_at = self._most(), self._connections.clock.ticks()
        self._moved()
        if awaited is None:
            self._connections.work_for(self)
        else:
            self._connections.wait_for(self)

    @property
    def _answered(self) -> bool:
        """Whether no request is being handled."""
        # uvicorn says that there always is a cycle, and begins without one.
        return self.cycle is None or self.cycle.response_complete  # type: ignore[redundant-expr]

    def _awaited_now(self) -> _Awaited | None:
        if self.flow.write_paused:
            return _Awaited.TAKE
        if self.conn.their_state is h11.SEND_BODY:
            if self._answered:
                return _Awaited.REST
            return None if self.flow.read_paused else _Awaited.BODY
        if self._answered:
            return _Awaited.HEAD if self._begun else _Awaited.NOTHING
        return None

    def _most(self) -> float:
        """Seconds that the phase may take without progress."""
        limits = self._connections.limits
        spans = {_Awaited.HEAD: limits.head_for, _Awaited.REST: _REST_FOR}
        return spans.get(self._awaited, limits.stall_for).total_seconds() if self._awaited else 0.0

    def _moved(self) -> int:
        """Bytes that the client moved since the last check, where bytes count."""
        received, self._received = self._received, 0
        untaken, self._untaken = self._untaken, self.transport.get_write_buffer_size()
        if self._awaited is _Awaited.TAKE:
            return max(0, untaken - self._untaken)
        return received if self._awaited is _Awaited.BODY else 0
