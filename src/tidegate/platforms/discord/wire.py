"""An account's connection to the gateway, kept until closed, and what is heard over it.

A lost connection is resumed where Discord allows it: then everything missed comes after all, in order. Where it does
not, a new session begins, and every guild tells where its channels stand. Either way it is told as a hint.
"""

from __future__ import annotations

import asyncio
import random
import zlib
from collections import deque
from collections.abc import Coroutine
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeVar

import aiohttp
import structlog
from discord import ConnectionClosed
from discord.gateway import DiscordWebSocket, ReconnectWebSocket
from discord.http import Route
from yarl import URL

from tidegate.clock import Clock
from tidegate.errors import AskedToWait, Banned, NotOurs, NotSent, PlatformError, SignedOut
from tidegate.platforms.discord.hearing import Hearing
from tidegate.platforms.discord.line import Line
from tidegate.platforms.discord.rest import Rest
from tidegate.platforms.discord.rights import Json
from tidegate.platforms.discord.troubles import broken, closed_with
from tidegate.port import Hint, NoteConnect

CONNECT_WITHIN = timedelta(seconds=30)
GUILDS_WITHIN = timedelta(seconds=10)
"""How long after a session began its guilds may take to tell of themselves; one in an outage does not."""

FIRST_PAUSE = timedelta(seconds=1)
LONGEST_PAUSE = timedelta(minutes=5)
"""Discord allows a bot to begin 1,000 sessions a day, and makes its token void beyond that."""

_CLOSED_WITHIN = 2.0
_SESSION_IS_OVER, _COMING_BACK = 1000, 4000
_NOT_TO_BE_UNDERSTOOD = (KeyError, TypeError, ValueError, AttributeError)

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class Wire:
    """Keeps one account listening. Made by ``open``."""

    def __init__(
        self, rest: Rest, hearing: Hearing, clock: Clock, note_connect: NoteConnect, *, room: int = 10_000
    ) -> None:
        """Keep up to *room* hints that nobody has taken yet."""
        self._rest = rest
        self._hearing = hearing
        self._clock = clock
        self._note_connect = note_connect
        self._room = room
        self._line = Line(rest, self._take)
        self._gateway: URL | None = None  # where the session is resumed, None when a new one has to begin
        self._session: tuple[str, int | None] | None = None
        self._healthy = False
        self._opened = asyncio.Event()
        self._settling: asyncio.Task[None] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._closed = False
        self._stopped: SignedOut | Banned | None = None
        self._hints: deque[Hint] = deque()
        self._hinted = asyncio.Event()

    async def open(self) -> None:
        """Connect and wait until the guilds have told where their channels stand; raises when that cannot be."""
        self._keeper = asyncio.create_task(self._keep_connected())
        self._keeper.add_done_callback(lambda _: self._hinted.set())
        opened = asyncio.create_task(self._opened.wait())
        try:
            await asyncio.wait({self._keeper, opened}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            opened.cancel()
        if self._keeper.done():
            self._keeper.result()

    async def close(self) -> None:
        """Disconnect for good; may be called more than once."""
        self._closed = True
        self._hinted.set()
        tasks = [task for task in (self._keeper, self._settling) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._hang_up()

    async def hint(self) -> Hint:
        """Wait for the next hint."""
        while not self._hints:
            if self._stopped is not None:
                raise self._stopped.with_traceback(None)
            if self._closed:
                raise NotSent("The connection to Discord is closed.")
            if self._keeper is not None and self._keeper.done():
                self._keeper.result()
            self._hinted.clear()
            await self._hinted.wait()
        return self._hints.popleft()

    # Staying connected

    async def _keep_connected(self) -> None:
        pause = timedelta()
        while True:
            problem = await self._until_lost()
            if not self._opened.is_set():
                raise problem
            if isinstance(problem, SignedOut | Banned):
                self._stopped = problem
                self._hinted.set()
                return
            _log.info("discord.connection_lost", why=str(problem))
            if self._healthy:
                self._add(self._hearing.pause())
                pause = timedelta()
            self._healthy = False
            wait = problem.pause if isinstance(problem, AskedToWait) else pause
            if self._session is None:  # Discord wants to be left alone for one to five seconds
                wait = max(wait, timedelta(seconds=random.uniform(1, 5)))  # noqa: S311 - no secret
            await self._clock.sleep(wait)
            pause = min(pause * 2, LONGEST_PAUSE) or FIRST_PAUSE

    async def _until_lost(self) -> PlatformError:
        """Connect and listen; returns what ended it."""
        try:
            socket = await self._connect()
            while True:
                await socket.poll_event()
        except ReconnectWebSocket as again:
            self._remember(resumable=again.resume)
            return PlatformError("Discord asked to connect again.")
        except ConnectionClosed as closed:
            self._remember(resumable=closed.code == 1000)
            return closed_with(closed.code)
        except (aiohttp.ClientError, OSError, ValueError, zlib.error) as problem:
            self._remember(resumable=True)
            return broken(problem, "listening")
        except PlatformError as problem:
            return problem
        except NotOurs as problem:
            return PlatformError(str(problem))
        finally:
            await self._hang_up()

    async def _connect(self) -> DiscordWebSocket:
        session, sequence = self._session or (None, None)
        gateway = self._gateway if session is not None else None
        if gateway is None:
            gateway = await self._where()
        socket = await self._in_time(self._line.reach(gateway, session=session, sequence=sequence))
        self._note_connect("gateway identify" if session is None else "gateway resume")
        return socket

    async def _where(self) -> URL:
        """Where a new session begins, and whether one may."""
        told = await self._rest.request(Route("GET", "/gateway/bot"))
        starts = told["session_start_limit"]
        if starts["remaining"] <= 0:
            raise AskedToWait(timedelta(milliseconds=starts["reset_after"]))
        return URL(told["url"])

    def _remember(self, *, resumable: bool) -> None:
        """Keep what a resume takes; a connection that never came to a session changes nothing."""
        socket = self._line.socket
        if not resumable:
            self._session = None
        elif socket is not None and socket.session_id is not None:
            self._session, self._gateway = (socket.session_id, socket.sequence), socket.gateway

    async def _in_time(self, connecting: Coroutine[Any, Any, T]) -> T:
        task = asyncio.ensure_future(connecting)
        over = asyncio.ensure_future(self._clock.sleep(CONNECT_WITHIN))
        try:
            await asyncio.wait((task, over), return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait((task,))
        if task.cancelled():
            raise PlatformError("Discord's gateway took too long to answer.")
        return task.result()

    async def _hang_up(self) -> None:
        """Close what is open; a server that does not answer is not waited for."""
        code = _SESSION_IS_OVER if self._closed else _COMING_BACK
        socket, self._line.socket = self._line.socket, None
        if socket is not None:
            with suppress(TimeoutError, aiohttp.ClientError, OSError):
                async with asyncio.timeout(_CLOSED_WITHIN):
                    await socket.close(code=code)

    # What is heard

    def _take(self, event: str, data: Json) -> None:
        """Pass an event on. One that cannot be understood breaks the stream: what it said has to be read."""
        try:
            hints = self._hearing.hear(event, data)
        except _NOT_TO_BE_UNDERSTOOD as problem:
            _log.warning("discord.event_not_understood", discord_event=event, problem=repr(problem))
            hints = self._hearing.begin_anew()
        for hint in hints:
            self._add(hint)
        if event in ("READY", "RESUMED"):
            self._healthy = True
            self._await_guilds()
        if not self._hearing.awaited:
            self._settle()

    def _await_guilds(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
        self._settling = asyncio.create_task(self._settle_late())

    async def _settle_late(self) -> None:
        await self._clock.sleep(GUILDS_WITHIN)
        self._settle()

    def _settle(self) -> None:
        if self._healthy:
            self._hearing.settle()
            self._opened.set()

    def _add(self, hint: Hint) -> None:
        """Keep it for whoever waits; when nobody takes them, the stream begins anew in place of them all."""
        if len(self._hints) >= self._room:
            self._hints.clear()
            self._hints.extend(self._hearing.begin_anew())
        else:
            self._hints.append(hint)
        self._hinted.set()
