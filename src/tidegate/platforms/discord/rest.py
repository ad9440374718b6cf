"""Discord's REST API through discord.py's session and routes, without its retries.

discord.py repeats, sleeps and holds calls back. Here a request is sent once and its answer is translated. The lane
decides whether to wait or to repeat. Calls that the library makes on its own are counted separately.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Iterable, Sequence
from datetime import timedelta
from typing import Any

import aiohttp
from discord import File
from discord.http import HTTPClient, Route

from tidegate.core.clock import Clock
from tidegate.core.errors import NotSent, PlatformError
from tidegate.core.rules.outgoing_proxy import ProxyAddress
from tidegate.platforms.discord.errors import RestAnswer, broken, trouble
from tidegate.platforms.discord.file_reader import FileReader
from tidegate.platforms.discord.rate_limits import RateLimits, Refusals
from tidegate.platforms.interface import NoteConnect

ANSWER_WITHIN = timedelta(seconds=60)
"""How long an answer may take, in addition to the time for uploading files."""

SLOWEST_UPLOAD = 256 << 10
"""Bytes per second: a slower upload is given up."""

_PARAMETER = re.compile(r"\{(\w+)_id\}")
_NO_CONTENT = 204
_OUR_OWN_PATIENCE = aiohttp.ClientTimeout(total=None, sock_connect=30)


def method_of(route: Route) -> str:
    """A route's name as Discord's reference spells it, such as ``GET /channels/{channel.id}/messages``."""
    path = _PARAMETER.sub(r"{\1.id}", route.path)
    return f"{route.method} {path}"


class LastCheck(aiohttp.TCPConnector):
    """Provides connections after a last check: nothing is awaited between the check and the first byte."""

    def __init__(self) -> None:
        super().__init__(limit=0)
        self.look: Callable[[], object] = lambda: None

    async def connect(self, *args: Any, **kwargs: Any) -> aiohttp.connector.Connection:
        connection = await super().connect(*args, **kwargs)
        try:
            self.look()
        except BaseException:
            connection.release()
            raise
        return connection


class RestClient(HTTPClient):
    """One account's REST client. ``ask`` makes our calls; discord.py makes its own through ``request``."""

    def __init__(
        self, clock: Clock, note_connect: NoteConnect, *, base: str | None = None, proxy: ProxyAddress | None = None
    ) -> None:
        """*base* is the address of Discord, when that is not discord.com."""
        self.exit = LastCheck()
        super().__init__(asyncio.get_running_loop(), self.exit, proxy=None if proxy is None else proxy.url)
        self.meters = RateLimits(clock)
        self._clock = clock
        self._refusals = Refusals(clock)
        self._note_connect = note_connect
        self._base = base or Route.BASE
        self._is_loopback = base is not None
        self._files: FileReader | None = None

    async def request(
        self,
        route: Route,
        *,
        files: Sequence[File] | None = None,
        form: Iterable[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Calls that discord.py makes on its own, counted as connecting; a call that was never sent is not counted.

        No lane delays these calls, so they wait here until their bucket has room.
        """
        method = method_of(route)
        while (wait := self.meters.refused_for(method, route.major_parameters)) > 0:
            await self._clock.sleep(timedelta(seconds=wait))
        try:
            answer = await self.ask(route, form=form, **kwargs)
        except NotSent:
            raise
        except PlatformError:
            self._note_connect(method)
            raise
        self._note_connect(method)
        return answer

    async def ask(
        self, route: Route, *, form: Iterable[dict[str, Any]] | None = None, upload: int = 0, **kwargs: Any
    ) -> Any:
        """Make one call, with so many bytes of files, and return its answer; raises the translated error otherwise."""
        method, major = method_of(route), route.major_parameters
        taken = self.meters.take(method, major)
        answer: RestAnswer | None = None
        try:
            within = ANSWER_WITHIN + timedelta(seconds=upload / SLOWEST_UPLOAD)
            answer = await self._exchange(self._send(route, form, kwargs), method, within)
            rest = self._refusals.note(answer)
        finally:
            self.meters.answered(taken, method, major, None if answer is None else answer.headers)
        if 200 <= answer.status < 300 and (answer.status == _NO_CONTENT or not isinstance(answer.body, str)):
            return answer.body
        raise rest or trouble(answer, method, bucket=bucket_of(method, major))

    @property
    def files(self) -> FileReader:
        """Reads files, through the same connections and their last check, without the token."""
        if self._files is None:
            loopback = self._base if self._is_loopback else None
            self._files = FileReader(self._session, loopback=loopback, proxy=self.proxy)
        return self._files

    async def close(self) -> None:
        """Close all connections, and answers that are still being read."""
        if self._files is not None:
            self._files.close()
        await super().close()

    async def _exchange(self, call: Coroutine[Any, Any, RestAnswer], method: str, within: timedelta) -> RestAnswer:
        sending = asyncio.ensure_future(call)
        over = asyncio.ensure_future(self._clock.sleep(within))
        try:
            await asyncio.wait((sending, over), return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                raise broken(TimeoutError(), method)
            return sending.result()
        except (aiohttp.ClientError, OSError) as problem:
            raise broken(problem, method) from problem
        except ValueError as problem:
            raise PlatformError(f"Discord's answer to {method} is no JSON, though it says so.") from problem
        finally:
            over.cancel()
            if not sending.done():
                sending.cancel()
                await asyncio.wait((sending,))

    async def _send(self, route: Route, form: Iterable[dict[str, Any]] | None, kwargs: dict[str, Any]) -> RestAnswer:
        headers = {"User-Agent": self.user_agent, "Authorization": f"Bot {self.token}"}
        if form is not None:
            kwargs["data"] = aiohttp.FormData(quote_fields=False)
            for part in form:
                kwargs["data"].add_field(**part)
        url = self._base + route.url.removeprefix(Route.BASE)
        async with self._session.request(
            route.method, url, headers=headers, timeout=_OUR_OWN_PATIENCE, proxy=self.proxy, **kwargs
        ) as response:
            text = await response.text(encoding="utf-8")
            body = json.loads(text) if response.content_type == "application/json" else text
            return RestAnswer(response.status, response.headers, body)

    @property
    def _session(self) -> aiohttp.ClientSession:
        """discord.py's own session; aiohttp must not repeat a request when a connection breaks."""
        session: aiohttp.ClientSession = vars(self)["_HTTPClient__session"]
        session._retry_connection = False
        return session


def bucket_of(method: str, major: str) -> str:
    """Our name of a bucket, which stays the same over restarts, unlike Discord's name."""
    return f"{method} {major}".rstrip()
