"""One child process from its start to its end, and the calls it was given.

A child may die at any moment. It says that it begins a call before it does, in a pipe that outlives it, so of every
call it left unanswered it is known whether WhatsApp can have got it.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any

from tidegate.clock import SystemClock
from tidegate.errors import NotSent, OutcomeUnknown
from tidegate.frames import Frame, pack, read

CHILD = "tidegate.platforms.whatsapp.child"
STAND_IN = "tidegate.loopback.whatsapp.standin"
"""What a child puts in the place of neonize's Go library when its account is a loopback one."""

_CLOCK = SystemClock()  # the child lives in the machine's own time
_BEATS = 4
"""How often the parent is heard within the time it may be silent."""


@dataclass(slots=True)
class _Call:
    answer: asyncio.Future[Frame] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    begun: bool = False


class Line:
    """The parent's side of one child."""

    def __init__(self, process: Process, heard: Callable[[Frame], None], said: Callable[[str], None]) -> None:
        self._process = process
        self._heard = heard
        self._said = said
        self._numbers = count(1)
        self._calls: dict[int, _Call] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self.ended = asyncio.Event()

    @classmethod
    async def start(
        cls,
        opening: Mapping[str, Any],
        *,
        stand_in: str | None,
        silent_after: timedelta,
        heard: Callable[[Frame], None],
        said: Callable[[str], None],
    ) -> Line:
        """Start a child and have it connect; *heard* gets what WhatsApp tells by itself, *said* what the child prints.

        With a *stand_in*, the name of a module, the library below neonize is that one's. What is secret in *opening*
        goes through the pipe: others can read a process's arguments and environment.
        """
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", CHILD, *([stand_in] if stand_in else []), stdin=PIPE, stdout=PIPE, stderr=PIPE,
            start_new_session=True,  # Ctrl-C at the terminal is for the parent, which closes in order
        )  # fmt: skip
        line = cls(process, heard, said)
        line._tasks = [
            asyncio.create_task(line._listen(), name=f"child {process.pid}"),
            asyncio.create_task(line._hear_prints()),
            asyncio.create_task(line._beat(silent_after)),
        ]
        line._write({"open": {**opening, "silent_after": silent_after.total_seconds()}})
        return line

    @property
    def pid(self) -> int:
        return self._process.pid

    async def call(
        self, name: str, args: Mapping[str, Any], body: bytes = b"", *, start_within: timedelta, within: timedelta
    ) -> Frame:
        """Have the child make a call; its answer, which may be an error in the library's words.

        ``NotSent`` is the proof that the library was never called; without an answer it is ``OutcomeUnknown``.
        """
        if self.ended.is_set():
            raise NotSent("The WhatsApp process of this account is not running, so nothing was sent.")
        number, call = next(self._numbers), _Call()
        self._calls[number] = call
        before = _CLOCK.ticks() + start_within.total_seconds()
        self._write({"n": number, "call": name, "before": before, **args}, body)
        try:
            async with asyncio.timeout(within.total_seconds()):
                answer = await call.answer
        except TimeoutError:
            raise OutcomeUnknown(f"WhatsApp did not answer within {within.total_seconds():.0f} s.") from None
        finally:
            self._calls.pop(number, None)
        if "late" in answer.head:
            raise NotSent("It took too long to reach the WhatsApp process, so it was not sent; it may be tried again.")
        return answer

    async def answered(self, within: timedelta) -> None:
        """Wait until every call so far is answered, but not longer than that."""
        if waiting := [call.answer for call in self._calls.values()]:
            await asyncio.wait(waiting, timeout=within.total_seconds())

    def kill(self) -> None:
        """End the child, whatever it is doing; what it began and left unanswered is unknown."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def close(self) -> None:
        """End the child, and wait until it is gone."""
        self.kill()
        await self._process.wait()
        await self.ended.wait()

    def _write(self, head: Mapping[str, Any], body: bytes = b"") -> None:
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            self._process.stdin.write(pack(head, body))

    async def _listen(self) -> None:
        """Until the child's end of the pipe is closed: what it wrote before it died is heard first."""
        assert self._process.stdout is not None
        try:
            while (frame := await read(self._process.stdout)) is not None:
                self._take(frame)
        finally:
            self._end()

    def _take(self, frame: Frame) -> None:
        if "begun" in frame.head:
            if call := self._calls.get(frame.head["begun"]):
                call.begun = True
        elif "n" in frame.head:
            call = self._calls.get(frame.head["n"])
            if call is not None and not call.answer.done():
                call.answer.set_result(frame)
        else:
            self._heard(frame)

    def _end(self) -> None:
        self.kill()  # it may live on with its pipe closed
        self.ended.set()
        for call in self._calls.values():
            if not call.answer.done():
                call.answer.set_exception(_unanswered(call))
        for task in self._tasks[1:]:
            task.cancel()

    async def _hear_prints(self) -> None:
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            self._said(line.decode(errors="replace").rstrip())

    async def _beat(self, silent_after: timedelta) -> None:
        while True:
            self._write({"beat": True})
            await _CLOCK.sleep(silent_after / _BEATS)


def _unanswered(call: _Call) -> NotSent | OutcomeUnknown:
    if call.begun:
        return OutcomeUnknown("The WhatsApp process ended during the call; nobody knows whether it arrived.")
    return NotSent("The WhatsApp process ended before it made the call, so nothing was sent.")
