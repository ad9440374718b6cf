"""The database session that proves a worker alive, and what the worker may do after its last heartbeat.

Invariant: one-owner-per-account.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from datetime import timedelta

import asyncpg
import structlog

from tidegate.core.clock import Clock
from tidegate.core.ids import WorkerNumber
from tidegate.database.pool import TROUBLE, Database
from tidegate.workers.queries import workers
from tidegate.workers.queries.workers import WorkerIdentity

log = structlog.get_logger()


class LivenessLock:
    """Holds this worker's lock on a session of its own and sends heartbeats on it.

    The session runs only tiny statements of its own. So the server itself frees the lock one whole time-out after the
    worker became silent. In this process, age counts from when the last successful heartbeat was *sent*. Calls stop at
    half the time-out, and connections to platforms are closed at three quarters.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        who: WorkerIdentity,
        *,
        moved: Callable[[WorkerNumber | None, WorkerNumber], Awaitable[None]],
    ) -> None:
        """*moved* gets the old and the new number, once the new lock is held and before calls are made again."""
        self._database = database
        self._clock = clock
        self._who = who
        self._moved = moved
        self._beat_sent = float("-inf")
        self._holds = False
        self._steady = asyncio.Event()
        self._session: asyncpg.Connection | None = None
        self.number: WorkerNumber | None = None
        self.since = float("-inf")

    @property
    def every(self) -> timedelta:
        return min(timedelta(seconds=0.5), self._who.time_out / 6)

    @property
    def calls_until(self) -> float:
        """The clock reading at which calls stop; in the past when the session is lost."""
        return self._beat_sent + self._who.time_out.total_seconds() / 2 if self._holds else float("-inf")

    @property
    def connected_until(self) -> float:
        """The clock reading at which connections to platforms must be closed."""
        return self._beat_sent + self._who.time_out.total_seconds() * 3 / 4

    async def steady(self) -> None:
        """Wait until calls are allowed."""
        while self._clock.ticks() >= self.calls_until:
            self._steady.clear()
            await self._steady.wait()

    async def run(self) -> None:
        """Run until cancelled: take a number, send heartbeats, and take a new number when the session is lost."""
        while True:
            try:
                await self._live()
            except TROUBLE as problem:
                log.warning(
                    "worker.session_lost", worker=self._who.name, problem=str(problem) or type(problem).__name__
                )
            finally:
                self._drop()
            await self._clock.sleep(self.every / 5)

    async def _live(self) -> None:
        async with asyncio.timeout(self._patience):
            self._session = await self._connect()
            sent = self._clock.ticks()
            number = await self._take_number(self._session)
        # A lost socket is noticed at once, not at the next heartbeat.
        self._session.add_termination_listener(lambda _: self._stop_calls())
        async with asyncio.timeout(self._who.time_out.total_seconds() / 2):
            await self._moved(self.number, number)
        self.number, self.since = number, sent
        while True:
            self._note_beat(sent)
            await self._clock.sleep(self.every)
            sent = self._clock.ticks()
            async with asyncio.timeout(self._patience):
                if not await workers.holds_lock(self._session, number):
                    raise ConnectionError("the database no longer holds this worker's lock")

    @property
    def _patience(self) -> float:
        return self._who.time_out.total_seconds() / 4

    async def _connect(self) -> asyncpg.Connection:
        milliseconds = int(self._who.time_out / timedelta(milliseconds=1))
        return await self._database.direct(
            f"{self._who.sessions} lives",
            idle_session_timeout=str(milliseconds),
            idle_in_transaction_session_timeout=str(milliseconds),
            statement_timeout=str(milliseconds // 4),
            lock_timeout=str(milliseconds // 4),
            tcp_user_timeout=str(milliseconds),
        )

    async def _take_number(self, session: asyncpg.Connection) -> WorkerNumber:
        while True:
            number = WorkerNumber(1 + secrets.randbelow(2**31 - 1))
            if await workers.take_lock(session, number):
                return number

    def _note_beat(self, sent: float) -> None:
        assert self._session is not None
        if not self._session.is_closed():
            self._beat_sent, self._holds = sent, True
            self._steady.set()

    def _stop_calls(self) -> None:
        self._holds = False

    def _drop(self) -> None:
        self._stop_calls()
        if self._session is not None:
            self._session.terminate()
            self._session = None
