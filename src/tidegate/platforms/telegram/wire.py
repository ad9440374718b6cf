"""An account's connection, made again whenever it is lost, and the one door to it.

A request goes out once. When its answer does not come, what is raised says whether it was handed over; whether to
ask again is the lane's to decide.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeVar

import structlog

from tidegate.clock import Clock
from tidegate.errors import (
    AskedToWait,
    Banned,
    NotOurs,
    NotSent,
    OutcomeUnknown,
    PlatformError,
    SignedOut,
    TidegateError,
)
from tidegate.platforms.telegram.line import Line, method_of
from tidegate.platforms.telegram.looking import Look
from tidegate.platforms.telegram.translate import hints_of
from tidegate.platforms.telegram.troubles import connect_trouble, trouble
from tidegate.port import Hint

ANSWER_WITHIN = timedelta(seconds=60)
"""How long an answer may take; Telegram answers or fails within seconds."""

CONNECT_WITHIN = timedelta(seconds=30)
_FIRST_PAUSE = timedelta(seconds=1)
_LONGEST_PAUSE = timedelta(minutes=1)

T = TypeVar("T")

_log = structlog.get_logger(__name__)

MakeLine = Callable[[Callable[[Any], None], Look], Line]
"""Makes a line that is not connected yet; it tells what Telegram pushes, and looks before anything leaves."""


class Wire:
    """Keeps one account connected until closed. Made by ``open``."""

    def __init__(self, make_line: MakeLine, clock: Clock, *, room: int = 10_000) -> None:
        """Keep up to *room* hints that nobody has taken yet."""
        self._make_line = make_line
        self._clock = clock
        self._room = room
        self.last_look: Look = lambda: None
        self._line: Line | None = None
        self.user: Any = None  # who Telegram said that we are, on connecting
        self._closed = False
        self._stopped: SignedOut | Banned | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._hints: deque[Hint] = deque()
        self._hinted = asyncio.Event()

    @classmethod
    async def open(cls, make_line: MakeLine, clock: Clock) -> Wire:
        """Connect; raises ``SignedOut`` or ``Banned`` when a person has to act, others when trying again may do."""
        wire = cls(make_line, clock)
        wire._line = await wire._connect()
        wire._keeper = asyncio.create_task(wire._keep_connected())
        return wire

    async def close(self) -> None:
        """Disconnect for good; may be called more than once."""
        self._closed = True
        self._hinted.set()
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
        line, self._line = self._line, None
        if line is not None:
            await line.hang_up()

    async def ask(self, request: Any, *, centre: int | None = None) -> Any:
        """Hand a request over and wait for its answer; *centre* is the data centre to ask, if not our own."""
        self._require_hope()
        line = self._line
        if line is None:
            raise NotSent("The connection to Telegram is lost and is being made again; nothing was sent.")
        # Nothing is awaited before the request is queued at home: whoever allowed it did so for this moment.
        hand_over = line.hand_over if centre in (None, line.session.dc_id) else await self._branch(line, centre)
        method = method_of(request)
        try:
            answer = hand_over(request)
        except ConnectionError as problem:
            raise NotSent("The connection to Telegram is lost; nothing was sent.") from problem
        await self._answered(answer, line, method)
        try:
            result = answer.result()
        except TidegateError:  # it was not allowed to leave any more
            raise
        except Exception as problem:
            raise trouble(problem, method) from problem
        line.session.process_entities(result)
        return result

    async def hint(self) -> Hint:
        """Wait for the next hint."""
        while not self._hints:
            self._require_hope()
            self._hinted.clear()
            await self._hinted.wait()
        return self._hints.popleft()

    def _require_hope(self) -> None:
        """Raise when neither an answer nor a hint will ever come."""
        if self._stopped is not None:
            raise self._stopped.with_traceback(None)
        if self._closed:
            raise NotSent("The connection to Telegram is closed.")

    async def _answered(self, answer: asyncio.Future[Any], line: Line, method: str) -> None:
        """Wait until the answer is there; raises when it will not come."""
        over = asyncio.ensure_future(self._clock.sleep(ANSWER_WITHIN))
        try:
            await asyncio.wait((answer, over, line.lost), return_when=asyncio.FIRST_COMPLETED)
            if answer.done() and not answer.cancelled():
                return
        finally:
            late = over.done()
            over.cancel()
            answer.cancel()  # without effect on one that is there
        if late:
            raise OutcomeUnknown(f"Telegram did not answer {method} within {ANSWER_WITHIN.total_seconds():.0f} s.")
        raise OutcomeUnknown(f"The connection to Telegram was lost before {method} was answered.")

    async def _branch(self, line: Line, centre: int) -> Callable[[Any], asyncio.Future[Any]]:
        """The way to another data centre, where the files are that were sent from there."""
        try:
            return await self._in_time(line.branch(centre))
        except TidegateError:
            raise
        except Exception as problem:
            raise NotSent(f"Telegram's data centre {centre} could not be reached: {problem!r}") from problem

    # Staying connected

    async def _connect(self) -> Line:
        self.last_look()
        line = self._make_line(self._take_push, self._look)
        try:
            await self._in_time(line.connect())
        except TidegateError:
            await line.hang_up()
            raise
        except Exception as problem:
            await line.hang_up()
            raise connect_trouble(problem, line.place) from problem
        except asyncio.CancelledError:
            await line.hang_up()
            raise
        if line.user is None:
            await line.hang_up()
            raise SignedOut("This account is not signed in to Telegram.")
        line.lost = line.disconnected
        self.user = line.user
        return line

    def _look(self) -> None:
        """The last look of whoever has this wire by then: a line may be older than its lane."""
        self.last_look()

    async def _in_time(self, connecting: Awaitable[T]) -> T:
        task = asyncio.ensure_future(connecting)
        over = asyncio.ensure_future(self._clock.sleep(CONNECT_WITHIN))
        try:
            await asyncio.wait((task, over), return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        if task.cancelled():
            raise TimeoutError
        return task.result()

    async def _keep_connected(self) -> None:
        """Whenever the connection is lost, make it again, pausing longer after each failure."""
        while self._stopped is None:
            line = self._line
            assert line is not None
            await asyncio.wait([line.lost])
            _log.info("telegram.connection_lost", why=repr(line.lost.exception()))
            self._line = None
            await line.hang_up()
            await self._connect_again()
            if self._line is not None:
                self._add_hint(Hint(None))  # whatever was pushed meanwhile is missing

    async def _connect_again(self) -> None:
        pause = _FIRST_PAUSE
        while self._line is None and self._stopped is None:
            try:
                self._line = await self._connect()
            except (SignedOut, Banned) as stop:
                self._stopped = stop
                self._hinted.set()
            except NotOurs:  # not ours to connect for now; when the claim is renewed, it is again
                await self._clock.sleep(_FIRST_PAUSE)
            except PlatformError as problem:
                _log.warning("telegram.not_connected", problem=str(problem))
                wait = problem.pause if isinstance(problem, AskedToWait) else pause
                await self._clock.sleep(wait)
                pause = min(pause * 2, _LONGEST_PAUSE)

    # Hints

    def _take_push(self, pushed: Any) -> None:
        for hint in hints_of(pushed):
            self._add_hint(hint)

    def _add_hint(self, hint: Hint) -> None:
        """Keep it for whoever waits; when nobody takes them, one that says "anything" replaces them all."""
        if len(self._hints) >= self._room:
            self._hints.clear()
            hint = Hint(None)
        self._hints.append(hint)
        self._hinted.set()
