"""A platform that accepts everything and records it: connections, calls and messages.

Clients send the frames of ``core.child_protocol`` over TCP. The first names the account and the process behind it, each
further one is a call with a number that its answer repeats. The record is the platform's own, by its own clock, so
tests can compare it with ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, timedelta
from typing import Any

from tidegate.core.child_protocol import pack, read
from tidegate.core.clock import Clock


@dataclass(slots=True)
class Session:
    """One connection of one account."""

    number: int
    account: str
    process: str
    opened_at: float
    closed_at: float | None = None

    def overlaps(self, later: Session) -> bool:
        return self.closed_at is None or self.closed_at > later.opened_at


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it arrived."""

    at: float
    account: str
    process: str
    session: int
    method: str


@dataclass(frozen=True, slots=True)
class Sent:
    """One message accepted."""

    at: float
    account: str
    target: int
    key: str


@dataclass(slots=True)
class Record:
    """Everything the platform received, in order."""

    calls: list[Call] = field(default_factory=list)
    sends: list[Sent] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)

    def stale_calls(self) -> list[Call]:
        """Calls of an owner that came after a call of a later one: two owners at a time."""
        newest: dict[str, Call] = {}
        stale = []
        for call in self.calls:
            latest = newest.get(call.account)
            if latest is not None and call.session < latest.session and call.process != latest.process:
                stale.append(call)
            else:
                newest[call.account] = call
        return stale

    def as_json(self) -> dict[str, Any]:
        return {
            "calls": [asdict(call) for call in self.calls],
            "sends": [asdict(sent) for sent in self.sends],
            "sessions": [asdict(session) for session in self.sessions],
        }


class CountingPlatform:
    """Serves clients until closed; everything it received is in ``record``."""

    def __init__(self, clock: Clock, *, latency: timedelta = timedelta()) -> None:
        self.record = Record()
        self._clock = clock
        self._latency = latency
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def start(self) -> str:
        """Listen on a free port of 127.0.0.1; returns the address."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"{host}:{port}"

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        session: Session | None = None
        try:
            hello = await read(reader)
            if hello is None or not {"account", "process"} <= hello.head.keys():
                return
            opened = self._clock.ticks()
            session = Session(len(self.record.sessions) + 1, hello.head["account"], hello.head["process"], opened)
            self.record.sessions.append(session)
            writer.write(pack({"session": session.number}))
            while (frame := await read(reader)) is not None:
                self._note(session, frame.head)
                if self._latency:
                    await self._clock.sleep(self._latency)
                at = self._clock.now().astimezone(UTC).isoformat()
                writer.write(pack({"call": frame.head["call"], "message": len(self.record.sends), "at": at}))
        except ConnectionError:
            pass  # a killed client does not close its connection properly
        finally:
            if session is not None:
                session.closed_at = self._clock.ticks()
            self._open.discard(writer)
            writer.close()

    def _note(self, session: Session, call: Mapping[str, Any]) -> None:
        at = self._clock.ticks()
        self.record.calls.append(Call(at, session.account, session.process, session.number, call["method"]))
        if call["method"] == "send":
            self.record.sends.append(Sent(at, session.account, call["channel"], call["key"]))
