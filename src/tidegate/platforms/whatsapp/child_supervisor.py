"""Keeps an account's WhatsApp process running and connected, and receives WhatsApp's events.

A process that dies is restarted. When WhatsApp stops the account (unlinked, banned, replaced, outdated), its process is
ended and not restarted: repeated connections get a number banned.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog

from tidegate.core.child_protocol import Frame
from tidegate.core.clock import Clock, SystemClock
from tidegate.core.errors import Banned, NotSent, PlatformError, SignedOut
from tidegate.core.rules.outgoing_proxy import ProxyAddress
from tidegate.core.rules.reconnect_pause import reconnect_pause
from tidegate.platforms.interface import NoteConnect
from tidegate.platforms.interface.uploads import Arrived
from tidegate.platforms.whatsapp.child_process import WhatsAppChild
from tidegate.platforms.whatsapp.errors import connect_trouble, stopped_by
from tidegate.platforms.whatsapp.translation import arrived_of

log = structlog.get_logger()

CONNECTED_WITHIN = timedelta(seconds=60)
LONGEST_PAUSE = timedelta(minutes=30)
"""Between two starts of a process that keeps dying; WhatsApp bans numbers that connect often."""

LAST_ANSWERS_WITHIN = timedelta(seconds=2)
ARRIVALS_HELD = 10_000

_REAL = SystemClock()


@dataclass(frozen=True, slots=True)
class ChildSetup:
    """Which child to start for an account."""

    account: str
    session: str
    device: str  # its address at WhatsApp
    silent_after: timedelta  # how long its parent may be silent before it ends itself
    stand_in: str | None = None  # a module that replaces the library below neonize
    proxy: ProxyAddress | None = None

    def open_options(self) -> dict[str, Any]:
        proxy = self.proxy.url if self.proxy else None
        return {"session": self.session, "device": self.device, "name": f"tidegate {self.account}", "proxy": proxy}


class ChildSupervisor:
    """One account's connection, over any number of processes."""

    def __init__(self, home: ChildSetup, clock: Clock, note_connect: NoteConnect) -> None:
        self.pre_send_check: Callable[[], object] = lambda: None
        self.connection_changed: Callable[[str | None], object] = lambda _: None
        self.warm_up: Callable[[], Awaitable[None]] | None = None
        self._home = home
        self._clock = clock
        self._note_connect = note_connect
        self._child: WhatsAppChild | None = None
        self._connected = asyncio.Event()
        self._is_warming_up = False
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stopped: SignedOut | Banned | None = None
        self._arrivals: asyncio.Queue[Arrived | None] = asyncio.Queue()
        self._keeping: asyncio.Task[None] | None = None
        self._letting_go: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """The current process."""
        return None if self._child is None or self._stopped or self._child.ended.is_set() else self._child.pid

    async def open(self) -> None:
        """Connect; raises the reason when that fails."""
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
        """One call by the child, after a last check; nothing is sent without a connection."""
        if self._stopped is not None:
            raise self._stopped
        if self._child is None or not self._connected.is_set():
            raise NotSent("WhatsApp is not connected at the moment, so nothing was sent.")
        if self._is_warming_up and name == "send":
            raise NotSent("The WhatsApp process was started again and does not know the groups yet; nothing was sent.")
        self.pre_send_check()
        return await self._child.call(name, args, body, start_within=start_within, within=within)

    async def arrival(self) -> Arrived:
        """The next message of ours that was reported as arrived."""
        arrived = await self._arrivals.get()
        if arrived is None:
            self._arrivals.put_nowait(None)
            assert self._stopped is not None
            raise self._stopped
        return arrived

    async def _start(self) -> None:
        """Start one child and connect it; on failure no child is left."""
        self._connected.clear()
        self._failed = asyncio.get_running_loop().create_future()
        try:
            self._child = await WhatsAppChild.start(
                self._home.open_options(),
                stand_in=self._home.stand_in,
                silent_after=self._home.silent_after,
                heard=self._hear,
                said=self._log,
            )
            await self._until_connected(self._child)
        except BaseException:
            await self._end_child()
            raise

    async def _until_connected(self, child: WhatsAppChild) -> None:
        waits = [asyncio.create_task(event.wait()) for event in (self._connected, child.ended)]
        any_of: list[asyncio.Future[Any]] = [*waits, self._failed]
        try:
            within = CONNECTED_WITHIN.total_seconds()
            await asyncio.wait(any_of, timeout=within, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if self._failed.done():
            self._failed.result()
        if child.ended.is_set():
            raise PlatformError("The WhatsApp process ended before it was connected; its last words are in the log.")
        if not self._connected.is_set():
            raise PlatformError(f"WhatsApp did not let the account in within {within:.0f} s.")

    async def _keep(self) -> None:
        """Start another child whenever one dies: at once after a good connection, otherwise after growing pauses."""
        pause, begun = timedelta(), _REAL.ticks()
        while self._stopped is None:
            held_for = timedelta()
            if self._child is not None:
                await self._child.ended.wait()
                self._connected.clear()
                if self._stopped is not None:
                    return
                held_for = timedelta(seconds=_REAL.ticks() - begun)
            pause = reconnect_pause(pause, held_for=held_for, longest=LONGEST_PAUSE)
            if self._child is not None:
                self.connection_changed("The WhatsApp process of this account died; it is started again.")
                log.warning("whatsapp.process_died", account=self._home.account, next_try_in=str(pause))
            await _REAL.sleep(pause)
            begun = _REAL.ticks()
            try:
                await self._start_again()
            except (PlatformError, OSError) as problem:
                self.connection_changed(str(problem))
                log.warning("whatsapp.not_connected", account=self._home.account, problem=str(problem))

    async def _start_again(self) -> None:
        """Start one more child; nothing is sent before its groups are loaded, because it starts without any."""
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
            self.connection_changed(None)
        elif kind == "disconnected":
            self._connected.clear()
            self.connection_changed("The connection to WhatsApp is lost; its library makes it again by itself.")
        elif kind == "failed" and not self._failed.done():
            self._failed.set_exception(connect_trouble(event["error"]))
        elif kind == "receipt":
            self._keep_arrival(arrived_of(event))

    def _keep_arrival(self, arrived: Arrived) -> None:
        """Keep a confirmation until it is read; when too many wait, the oldest is dropped: none is essential."""
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
        if self._child is not None:
            self._letting_go = asyncio.create_task(self._let_go(self._child))

    async def _let_go(self, child: WhatsAppChild) -> None:
        """End the child for good, after the pending answers: one may say that a send arrived."""
        await child.answered(LAST_ANSWERS_WITHIN)
        child.kill()

    async def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.close()
        if self._failed.done():
            self._failed.exception()  # already raised in ``open``, or no longer needed

    def _log(self, said: str) -> None:
        log.debug("whatsapp.process_says", account=self._home.account, said=said)
