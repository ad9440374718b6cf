"""One child process from its start to its end, and the calls it was given.

A child may die at any moment. It announces each call in the pipe before making it. So for every call without an answer
it is known whether WhatsApp can have received it.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any

from tidegate.core import child_process
from tidegate.core.child_process import kill_child
from tidegate.core.child_protocol import Frame, pack, read
from tidegate.core.clock import SystemClock
from tidegate.core.errors import NotSent, OutcomeUnknown

CHILD = "tidegate.platforms.whatsapp.child_main"
STAND_IN = "tidegate.loopback.whatsapp.neonize_library"
"""The module that replaces neonize's Go library in the child of a loopback account."""

_CLOCK = SystemClock()  # the child uses the machine's real clock
_BEATS = 4
"""How many heartbeats the parent sends within the time it may be silent."""


@dataclass(slots=True)
class _Call:
    answer: asyncio.Future[Frame] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    begun: bool = False


class WhatsAppChild:
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
        options: Mapping[str, Any],
        *,
        stand_in: str | None,
        silent_after: timedelta,
        heard: Callable[[Frame], None],
        said: Callable[[str], None],
    ) -> WhatsAppChild:
        """Start a child and connect it; *heard* gets WhatsApp's events, *said* what the child prints.

        *stand_in* names a module that replaces the library below neonize. Secrets in *options* go through the pipe,
        because others can read a process's arguments and environment.
        """
        process = await child_process.start(
            *child_process.python_module(CHILD, *([stand_in] if stand_in else [])),
            env=child_process.python_environment(*child_process.SYSTEM, *child_process.NETWORK),
            stdin=PIPE, stdout=PIPE, stderr=PIPE,
            start_new_session=True,  # Ctrl-C at the terminal is for the parent, which closes in order
        )  # fmt: skip
        child = cls(process, heard, said)
        child._tasks = [
            asyncio.create_task(child._listen(), name=f"child {process.pid}"),
            asyncio.create_task(child._hear_prints()),
            asyncio.create_task(child._beat(silent_after)),
        ]
        child._write({"open": {**options, "silent_after": silent_after.total_seconds()}})
        return child

    @property
    def pid(self) -> int:
        return self._process.pid

    async def call(
        self, name: str, args: Mapping[str, Any], body: bytes = b"", *, start_within: timedelta, within: timedelta
    ) -> Frame:
        """Make a call through the child; returns its answer, which may be an error in the library's words.

        ``NotSent`` proves that the library was never called; without an answer it is ``OutcomeUnknown``.
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
        """Kill the child, whatever it is doing; calls it began without an answer have an unknown outcome."""
        kill_child(self._process)

    async def close(self) -> None:
        """End the child, and wait until it has ended."""
        self.kill()
        await self._process.wait()
        await self.ended.wait()

    def _write(self, head: Mapping[str, Any], body: bytes = b"") -> None:
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            self._process.stdin.write(pack(head, body))

    async def _listen(self) -> None:
        """Read until the child's end of the pipe is closed, including what it wrote before it died."""
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
        self.kill()  # it may still run with its pipe closed
        self.ended.set()
        for call in self._calls.values():
            if not call.answer.done():
                call.answer.set_exception(_unanswered(call))
        for task in self._tasks[1:]:
            task.cancel()

    async def _hear_prints(self) -> None:
        assert self._process.stderr is not None
        while child := await self._process.stderr.readline():
            self._said(child.decode(errors="replace").rstrip())

    async def _beat(self, silent_after: timedelta) -> None:
        while True:
            self._write({"beat": True})
            await _CLOCK.sleep(silent_after / _BEATS)


def _unanswered(call: _Call) -> NotSent | OutcomeUnknown:
    if call.begun:
        return OutcomeUnknown("The WhatsApp process ended during the call; nobody knows whether it arrived.")
    return NotSent("The WhatsApp process ended before it made the call, so nothing was sent.")
