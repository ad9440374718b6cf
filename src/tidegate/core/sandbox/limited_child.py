"""A child process that reads what strangers made: with little memory, little time and no files.

The parent starts it here and talks with it in the frames of ``child_protocol``. The child binds itself to its limits
(``child_limits``), because limits hold for a process from within.

Invariant: nothing-blocks-the-loop.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Self

from tidegate.core import child_process, child_protocol
from tidegate.core.child_protocol import Frame
from tidegate.core.errors import MachineTrouble, TidegateError

_STARTED_WITHIN = 120
_LONGEST = 4 * 1024 * 1024


class LimitExceeded(TidegateError):
    """The child ended, or gave no answer in its time."""


class LimitedChild:
    """A running child, ready for its first job."""

    def __init__(self, process: Process) -> None:
        self.process = process

    @classmethod
    async def start(cls, module: str, *, cannot_start: Callable[[str], str]) -> LimitedChild:
        """Start *module* in a process of its own. It has to say that it is ready.

        ``MachineTrouble`` with the sentence of *cannot_start* where the machine does not allow it.
        """
        try:
            process = await child_process.start(
                *child_process.python_module(module),
                env=child_process.python_environment(PYTHONDONTWRITEBYTECODE="1"),
                stdin=PIPE, stdout=PIPE, stderr=DEVNULL, cwd="/",
            )  # fmt: skip
        except (OSError, MemoryError, RuntimeError) as problem:  # no memory, no thread to wait for it, no such program
            raise MachineTrouble(cannot_start(getattr(problem, "strerror", None) or str(problem))) from problem
        child = cls(process)
        try:
            await child.receive(_STARTED_WITHIN)
        except LimitExceeded as problem:  # it has read nothing yet, so nothing that it reads is the cause
            raise MachineTrouble(cannot_start(f"it ended with status {await child.end()}")) from problem
        return child

    async def send(self, message: bytes) -> None:
        """Give it a message."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(message)
            await self.process.stdin.drain()
        except ConnectionError as problem:
            raise LimitExceeded("The child ended.") from problem

    async def receive(self, seconds: float) -> Frame:
        """Its next message, which has to come within *seconds*."""
        assert self.process.stdout is not None
        try:
            async with asyncio.timeout(seconds):
                said = await child_protocol.read(self.process.stdout, longest=_LONGEST)
        except TimeoutError as problem:
            raise LimitExceeded("The child gave no answer.") from problem
        if said is None:
            raise LimitExceeded("The child ended.")
        return said

    async def end(self) -> int:
        """End it at once; its status."""
        child_process.kill_child(self.process)
        return await self.process.wait()


class SuccessiveChildren:
    """Work that is given to one child, and to a new one after that was ended for exceeding a limit.

    *children* is how many were started so far.
    """

    def __init__(self, module: str, cannot_start: Callable[[str], str]) -> None:
        self.children = 0
        self._module = module
        self._cannot_start = cannot_start
        self._running: LimitedChild | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end_child()

    @asynccontextmanager
    async def child_at_work(self) -> AsyncIterator[LimitedChild]:
        """A child for one job. It is ended where the job fails, because it is still busy then, or dead."""
        if self._running is None:
            self._running = await LimitedChild.start(self._module, cannot_start=self._cannot_start)
            self.children += 1
        try:
            yield self._running
        except BaseException:
            await self._end_child()
            raise

    async def _end_child(self) -> None:
        child, self._running = self._running, None
        if child is not None:
            await child.end()
