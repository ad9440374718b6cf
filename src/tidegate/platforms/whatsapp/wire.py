"""Keeps an account's WhatsApp process running and connected, and hears what WhatsApp tells by itself.

A process that dies is started anew. One that was told to stop (unlinked, banned, replaced, outdated) is ended and not
started again: connecting over and over is what gets a number banned.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog

from tidegate.clock import Clock, SystemClock
from tidegate.errors import Banned, NotSent, PlatformError, SignedOut
from tidegate.frames import Frame
from tidegate.platforms.whatsapp.line import Line
from tidegate.platforms.whatsapp.translate import arrived_of
from tidegate.platforms.whatsapp.troubles import connect_trouble, stopped_by
from tidegate.port import NoteConnect
from tidegate.port.media import Arrived

log = structlog.get_logger()

CONNECTED_WITHIN = timedelta(seconds=60)
FIRST_RESTART = timedelta(seconds=1)
LAST_RESTART = timedelta(minutes=5)
LAST_ANSWERS_WITHIN = timedelta(seconds=2)
ARRIVALS_HELD = 10_000

_REAL = SystemClock()


@dataclass(frozen=True, slots=True)
class Home:
    """Which child to start for an account: what it opens, with which library, and how long its parent may be silent."""

    account: str
    session: str
    device: str
    silent_after: timedelta
    stand_in: str | None = None

    def opening(self) -> dict[str, Any]:
        return {"session": self.session, "device": self.device, "name": f"tidegate {self.account}"}


class Wire:
    """One account's connection, over as many processes as it takes."""

    def __init__(self, home: Home, clock: Clock, note_connect: NoteConnect) -> None:
        self.last_look: Callable[[], object] = lambda: None
        self.warm_up: Callable[[], Awaitable[None]] | None = None
        self._home = home
        self._clock = clock
        self._note_connect = note_connect
        self._line: Line | None = None
        self._connected = asyncio.Event()
        self._is_warming_up = False
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stopped: SignedOut | Banned | None = None
        self._arrivals: asyncio.Queue[Arrived | None] = asyncio.Queue()
        self._keeping: asyncio.Task[None] | None = None
        self._letting_go: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """The process of the moment."""
        return None if self._line is None or self._stopped or self._line.ended.is_set() else self._line.pid

    async def open(self) -> None:
        """Connect; raises what keeps it from that."""
        await self._start()
        self._keeping = asyncio.create_task(self._keep(), name=f"keeping {self._home.account}")

    async def close(self) -> None:
        tasks = [task for task in (self._keeping, self._letting_go) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._end_child()

    async def ask(
        self, name: str, args: Mapping[str, Any], body: bytes = b"", *, start_within: timedelta, within: timedelta
    ) -> Frame:
        """One call by the child, after a last look; nothing leaves while nothing is connected."""
        if self._stopped is not None:
            raise self._stopped
        if self._line is None or not self._connected.is_set():
            raise NotSent("WhatsApp is not connected at the moment, so nothing was sent.")
        if self._is_warming_up and name == "send":
            raise NotSent("The WhatsApp process was started again and is being told of the groups; nothing was sent.")
        self.last_look()
        return await self._line.call(name, args, body, start_within=start_within, within=within)

    async def arrival(self) -> Arrived:
        """The next message of ours that is said to have arrived."""
        arrived = await self._arrivals.get()
        if arrived is None:
            self._arrivals.put_nowait(None)
            assert self._stopped is not None
            raise self._stopped
        return arrived

    async def _start(self) -> None:
        """One child, connected, or none."""
        self._connected.clear()
        self._failed = asyncio.get_running_loop().create_future()
        try:
            self._line = await Line.start(
                self._home.opening(),
                stand_in=self._home.stand_in,
                silent_after=self._home.silent_after,
                heard=self._hear,
                said=self._log,
            )
            await self._until_connected(self._line)
        except BaseException:
            await self._end_child()
            raise

    async def _until_connected(self, line: Line) -> None:
        waits = [asyncio.create_task(event.wait()) for event in (self._connected, line.ended)]
        any_of: list[asyncio.Future[Any]] = [*waits, self._failed]
        try:
            within = CONNECTED_WITHIN.total_seconds()
            await asyncio.wait(any_of, timeout=within, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if self._failed.done():
            self._failed.result()
        if line.ended.is_set():
            raise PlatformError("The WhatsApp process ended before it was connected; its last words are in the log.")
        if not self._connected.is_set():
            raise PlatformError(f"WhatsApp did not let the account in within {within:.0f} s.")

    async def _keep(self) -> None:
        """Start another child whenever one dies, later and later while that fails."""
        wait = FIRST_RESTART
        while self._stopped is None:
            if self._line is not None:
                await self._line.ended.wait()
                self._connected.clear()
                if self._stopped is not None:
                    return
                log.warning("whatsapp.process_died", account=self._home.account, next="it is started again")
            await _REAL.sleep(wait)
            try:
                await self._start_again()
                wait = FIRST_RESTART
            except (PlatformError, OSError) as problem:
                wait = min(wait * 2, LAST_RESTART)
                log.warning("whatsapp.not_connected", account=self._home.account, problem=str(problem))

    async def _start_again(self) -> None:
        """One more child; nothing is sent before it is warmed up, for it knows nothing of what the last one knew."""
        self._is_warming_up = self.warm_up is not None
        try:
            await self._start()
            if self.warm_up is not None:
                await self.warm_up()
        finally:
            self._is_warming_up = False

    def _hear(self, frame: Frame) -> None:
        event = frame.head
        kind = event["event"]
        if stop := stopped_by(event, self._clock.now()):
            self._stop(stop)
        elif kind == "connected":
            self._note_connect("connect")
            self._connected.set()
        elif kind == "disconnected":
            self._connected.clear()
        elif kind == "failed" and not self._failed.done():
            self._failed.set_exception(connect_trouble(event["error"]))
        elif kind == "receipt":
            self._keep_arrival(arrived_of(event))

    def _keep_arrival(self, arrived: Arrived) -> None:
        """Hold it for whoever waits; the oldest is let go when nobody does, as nothing depends on any one of them."""
        if self._arrivals.qsize() >= ARRIVALS_HELD:
            self._arrivals.get_nowait()
        self._arrivals.put_nowait(arrived)

    def _stop(self, stop: SignedOut | Banned) -> None:
        if self._stopped is not None:
            return
        self._stopped = stop
        self._connected.clear()
        if not self._failed.done():
            self._failed.set_exception(stop)
        self._arrivals.put_nowait(None)
        if self._line is not None:
            self._letting_go = asyncio.create_task(self._let_go(self._line))

    async def _let_go(self, line: Line) -> None:
        """End the child for good; an answer that is on its way is heard first, since it may say that a send arrived."""
        await line.answered(LAST_ANSWERS_WITHIN)
        line.kill()

    async def _end_child(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            await line.close()
        if self._failed.done():
            self._failed.exception()  # it was told to whoever opened, or nobody needs it any more

    def _log(self, said: str) -> None:
        log.debug("whatsapp.process_says", account=self._home.account, said=said)
