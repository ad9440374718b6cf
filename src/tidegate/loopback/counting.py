"""A platform that accepts everything and remembers it: who was connected when, every call, every message sent.

Clients speak lines of JSON over TCP: the first names the account and the process behind it, each further one is a call
with a number that its answer repeats. The record is the platform's own, by its own clock, so it can contradict ours.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, timedelta
from typing import Any

from tidegate.clock import Clock


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
    """All the platform saw, in the order it saw it."""

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
    """Serves clients until closed; everything it saw is in ``record``."""

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
            hello = json.loads(await reader.readline() or b"{}")
            if "account" not in hello:
                return
            session = Session(
                len(self.record.sessions) + 1, hello["account"], hello["process"], opened_at=self._clock.ticks()
            )
            self.record.sessions.append(session)
            self._answer(writer, {"session": session.number})
            while line := await reader.readline():
                call = json.loads(line)
                self._note(session, call)
                if self._latency:
                    await self._clock.sleep(self._latency)
                self._answer(writer, {"call": call["call"], "message": len(self.record.sends), "at": _now(self._clock)})
        except ConnectionError:
            pass  # a killed client says no goodbye
        finally:
            if session is not None:
                session.closed_at = self._clock.ticks()
            self._open.discard(writer)
            writer.close()

    def _note(self, session: Session, call: dict[str, Any]) -> None:
        at = self._clock.ticks()
        self.record.calls.append(Call(at, session.account, session.process, session.number, call["method"]))
        if call["method"] == "send":
            self.record.sends.append(Sent(at, session.account, call["channel"], call["key"]))

    def _answer(self, writer: asyncio.StreamWriter, answer: dict[str, Any]) -> None:
        writer.write(json.dumps(answer).encode() + b"\n")


def _now(clock: Clock) -> str:
    return clock.now().astimezone(UTC).isoformat()
