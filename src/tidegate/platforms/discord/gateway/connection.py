"""An account's connection to the gateway, kept until closed, and the events that arrive over it.

A lost connection is resumed where Discord allows it: then all missed events arrive in order. Otherwise a new session
begins, and every guild sends the state of its channels. In both cases a hint reports it.
"""

from __future__ import annotations

import asyncio
import random
import zlib
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import TypeVar

import aiohttp
import structlog
from discord import ConnectionClosed
from discord.gateway import DiscordWebSocket, ReconnectWebSocket
from discord.http import Route
from yarl import URL

from tidegate.core.clock import Clock
from tidegate.core.errors import AskedToWait, Banned, NotOurs, NotSent, PlatformError, SignedOut
from tidegate.core.rules.reconnect_pause import reconnect_pause
from tidegate.platforms.connect_timeout import in_time
from tidegate.platforms.discord.errors import broken, closed_with
from tidegate.platforms.discord.gateway.gateway_events import GatewayEvents
from tidegate.platforms.discord.gateway.raw_client import RawGatewayClient
from tidegate.platforms.discord.permissions import Json
from tidegate.platforms.discord.rest import RestClient
from tidegate.platforms.interface import NoteConnect
from tidegate.platforms.update_queue import UpdateQueue

GUILDS_WITHIN = timedelta(seconds=10)
"""How long after the start of a session its guilds may take to arrive; one in an outage does not arrive."""

_CLOSED_WITHIN = 2.0
_SESSION_IS_OVER, _COMING_BACK = 1000, 4000
_NOT_TO_BE_UNDERSTOOD = (KeyError, TypeError, ValueError, AttributeError)

T = TypeVar("T")


class _EventsMissing(Exception):
    """The sequence numbers of events have a gap."""


_log = structlog.get_logger(__name__)


class GatewayConnection:
    """Keeps one account connected to the gateway. Created by ``open``."""

    def __init__(self, rest: RestClient, events: GatewayEvents, clock: Clock, note_connect: NoteConnect) -> None:
        self.connection_changed: Callable[[str | None], object] = lambda _: None
        self._rest = rest
        self._events = events
        self._clock = clock
        self._note_connect = note_connect
        self._client = RawGatewayClient(rest, self._take)
        self._gateway: URL | None = None  # where the session is resumed; None when a new one has to begin
        self._session: tuple[str, int | None] | None = None
        self._heard: int | None = None  # the sequence number of the last processed event
        self._gap_after: int | None = None  # numbers were missing after this event, and Discord was asked for them
        self._healthy = False
        self._opened = asyncio.Event()
        self._guild_wait: asyncio.Task[None] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._closed = False
        self._stopped: SignedOut | Banned | None = None
        self.updates = UpdateQueue(lambda _: events.begin_anew())

    async def open(self) -> None:
        """Connect and wait until the guilds have sent their channels; raises when that fails."""
        self._keeper = asyncio.create_task(self._keep_connected())
        self._keeper.add_done_callback(lambda _: self.updates.wake())
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
        self.updates.wake()
        tasks = [task for task in (self._keeper, self._guild_wait) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._hang_up()

    def require_open(self) -> None:
        """Raise when no update will ever come."""
        if self._stopped is not None:
            raise self._stopped.with_traceback(None)
        if self._closed:
            raise NotSent("The connection to Discord is closed.")
        if self._keeper is not None and self._keeper.done():
            self._keeper.result()

    # Staying connected

    async def _keep_connected(self) -> None:
        pause = timedelta()
        while True:
            begun = self._clock.ticks()
            problem = await self._until_lost()
            if not self._opened.is_set():
                raise problem
            if isinstance(problem, SignedOut | Banned):
                self._stopped = problem
                self.updates.wake()
                return
            held_for = timedelta(seconds=self._clock.ticks() - begun) if self._healthy else timedelta()
            pause = reconnect_pause(pause, held_for=held_for)
            self.connection_changed(str(problem))
            if self._healthy:
                self.updates.add(self._events.pause())
            self._healthy = False
            wait = problem.pause if isinstance(problem, AskedToWait) else pause
            if self._session is None:  # Discord requires a pause of one to five seconds
                wait = max(wait, timedelta(seconds=random.uniform(1, 5)))  # noqa: S311 - no secret
            _log.info("discord.connection_lost", why=str(problem), next_try_in=str(wait))
            await self._clock.sleep(wait)

    async def _until_lost(self) -> PlatformError:
        """Connect and receive events; returns the reason for the end."""
        try:
            socket = await self._connect()
            while True:
                await socket.poll_event()
        except _EventsMissing:
            self._remember(resumable=True)
            return PlatformError("Discord left out events; they are asked for again.")
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
        try:
            socket = await in_time(self._client.reach(gateway, session=session, sequence=sequence), self._clock)
        except TimeoutError as problem:
            raise PlatformError("Discord's gateway took too long to answer.") from problem
        self._note_connect("gateway identify" if session is None else "gateway resume")
        return socket

    async def _where(self) -> URL:
        """Where a new session begins, and whether one may begin."""
        answer = await self._rest.request(Route("GET", "/gateway/bot"))
        try:
            starts = answer["session_start_limit"]
            remaining, reset_after, url = int(starts["remaining"]), float(starts["reset_after"]), URL(answer["url"])
        except _NOT_TO_BE_UNDERSTOOD as problem:
            raise PlatformError(f"Discord's answer to GET /gateway/bot cannot be understood: {problem!r}") from problem
        if remaining <= 0:
            raise AskedToWait(timedelta(milliseconds=reset_after))
        return url

    def _remember(self, *, resumable: bool) -> None:
        """Store what a resume needs; a connection that never had a session changes nothing."""
        socket = self._client.socket
        if not resumable:
            self._session = None
        elif socket is not None and socket.session_id is not None:
            self._session, self._gateway = (socket.session_id, self._heard), socket.gateway

    async def _hang_up(self) -> None:
        """Close the open connection, without waiting for a server that does not answer."""
        code = _SESSION_IS_OVER if self._closed else _COMING_BACK
        socket, self._client.socket = self._client.socket, None
        if socket is not None:
            with suppress(TimeoutError, aiohttp.ClientError, OSError):
                async with asyncio.timeout(_CLOSED_WITHIN):
                    await socket.close(code=code)

    # Events

    def _take(self, event: str, data: Json) -> None:
        """Pass an event on. One that cannot be parsed breaks the stream: its content has to be read by a call."""
        complete = self._follows(event)
        try:
            hints = self._events.read(event, data)
        except _NOT_TO_BE_UNDERSTOOD as problem:
            _log.warning("discord.event_not_understood", discord_event=event, problem=repr(problem))
            complete = False
            hints = []
        for hint in hints if complete else [*hints, *self._events.begin_anew()]:
            self.updates.add(hint)
        if event in ("READY", "RESUMED"):
            self._healthy = True
            self.connection_changed(None)
            self._await_guilds()
        if not self._events.awaited:
            self._complete()

    def _follows(self, event: str) -> bool:
        """Whether an event follows the last one by its sequence number.

        Missing events are requested once, by resuming after the last one that arrived.
        """
        before = None if event == "READY" else self._heard
        number = self._client.socket.sequence if self._client.socket is not None else None
        if before is None or number is None or number <= before + 1:
            self._heard = number
            return True
        if before != self._gap_after:
            self._gap_after = before
            raise _EventsMissing
        self._heard = number
        _log.warning("discord.events_missing", count=number - before - 1)
        return False

    def _await_guilds(self) -> None:
        if self._guild_wait is not None:
            self._guild_wait.cancel()
        self._guild_wait = asyncio.create_task(self._complete_late())

    async def _complete_late(self) -> None:
        await self._clock.sleep(GUILDS_WITHIN)
        self._complete()

    def _complete(self) -> None:
        if self._healthy:
            self._events.mark_complete()
            self._opened.set()
