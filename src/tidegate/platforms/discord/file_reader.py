"""Reads files from Discord's CDN and media proxy: no token is sent, no redirect followed, no size trusted."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import urlsplit

import aiohttp

from tidegate.core.errors import AskedToWait, PlatformError, Refused
from tidegate.core.platform_call import Scope, ScopeKind
from tidegate.platforms.discord.errors import broken
from tidegate.platforms.discord.messages.files import expiry_of
from tidegate.platforms.discord.platform import DISCORD
from tidegate.platforms.interface import CannotAsk, FileHandle, HandleExpired

METHOD = "GET file"
"""What a read is called in the call log: of an attachment, a sticker or a copy of the media proxy."""

_PATIENCE = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=60)
_SECONDS = 300
_SLOWEST = 100_000
"""How many bytes a second come at least from a host that sends all that is before the wanted ones as well."""

_WHOLE_FILES = 8
"""How many answers of such hosts are open; the oldest that nobody reads just now is closed for another."""

_PASSED_AT_ONCE = 1 << 16
_UNNAMED_WAIT = timedelta(minutes=1)
_GONE = (403, 404, 410)


class FileReader:
    """Reads ranges of files. A loopback account reads from its loopback Discord, and from no other host."""

    def __init__(self, session: aiohttp.ClientSession, *, loopback: str | None, proxy: str | None = None) -> None:
        """*loopback* is the address of the account's loopback Discord, ``http://127.0.0.1:PORT``."""
        self._session = session
        self._proxy = proxy
        self._loopback = None if loopback is None else urlsplit(loopback).netloc
        self._wholes: dict[FileHandle, _WholeAnswer] = {}

    async def read(self, handle: FileHandle, offset: int, length: int) -> bytes:
        """The bytes from *offset* on, at most *length*; fewer only at the end of the file.

        A host may ignore the range and send the whole file. Such an answer is kept open, and the next bytes are read on
        from where it is: a file costs about one request, and never more memory than *length*.
        """
        address = self._allowed(handle)
        try:
            async with asyncio.timeout(_SECONDS + offset / _SLOWEST):
                whole = self._wholes.get(handle)
                if whole is None:
                    answer = await self._ask(address, offset, length)
                    if answer.status != 200:
                        return await _ranged(answer, length, handle)
                    whole = self._adopt(handle, answer)
                return await self._read_on(whole, handle, address, offset, length)
        except (aiohttp.ClientError, OSError) as problem:
            raise broken(problem, METHOD) from problem

    def close(self) -> None:
        """Give up all answers that are not read to their end."""
        for whole in self._wholes.values():
            whole.close()
        self._wholes.clear()

    async def _ask(self, address: str, offset: int, length: int) -> aiohttp.ClientResponse:
        headers = {"Range": f"bytes={offset}-{offset + length - 1}", "Accept-Encoding": "identity"}
        return await self._session.get(
            address, headers=headers, allow_redirects=False, timeout=_PATIENCE, proxy=self._proxy
        )

    def _adopt(self, handle: FileHandle, answer: aiohttp.ClientResponse) -> _WholeAnswer:
        """Keep an answer open to be read on, unless there is one of this file already."""
        if handle in self._wholes:
            answer.close()
            return self._wholes[handle]
        idle = [one for one, whole in self._wholes.items() if not whole.turn.locked()]
        for one in idle[: max(0, len(self._wholes) + 1 - _WHOLE_FILES)]:
            self._wholes.pop(one).close()
        self._wholes[handle] = _WholeAnswer(answer)
        return self._wholes[handle]

    async def _read_on(self, whole: _WholeAnswer, handle: FileHandle, address: str, offset: int, length: int) -> bytes:
        """From an answer that others read on as well, one after the other; requested again where it is too far on."""
        async with whole.turn:
            if whole.answer is None or whole.position > offset:
                whole.close()
                answer = await self._ask(address, offset, length)
                if answer.status != 200:
                    return await _ranged(answer, length, handle)
                whole.answer, whole.position = answer, 0
            try:
                return await whole.read(offset, length)
            finally:
                if self._wholes.get(handle) is not whole:
                    whole.close()
                elif whole.answer is None:
                    del self._wholes[handle]

    def _allowed(self, handle: FileHandle) -> str:
        parts = urlsplit(handle)
        if self._loopback is None:
            allowed = parts.scheme == "https" and parts.netloc in DISCORD.file_hosts
            address = str(handle)
        else:  # a loopback Discord answers for the hosts of the real one too
            allowed = parts.netloc in (self._loopback, *DISCORD.file_hosts)
            address = f"http://{self._loopback}{parts.path}" + (f"?{parts.query}" if parts.query else "")
        if not allowed:
            raise CannotAsk(f"Files are read from Discord's own hosts only, and not from {parts.netloc[:100]!r}.")
        return address


@dataclass(slots=True)
class _WholeAnswer:
    """The answer of a host that sends whole files, as far as it has been read; None once it is over."""

    answer: aiohttp.ClientResponse | None
    position: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def read(self, offset: int, length: int) -> bytes:
        """Pass what is before *offset*, keeping nothing of it, and read from there."""
        done = False
        try:
            assert self.answer is not None
            size = self.answer.content_length
            content = self.answer.content
            while self.position < offset and (size is None or offset < size):
                piece = await content.read(min(_PASSED_AT_ONCE, offset - self.position))
                if not piece:
                    return b""
                self.position += len(piece)
            found = await _read(content, length) if self.position == offset else b""
            self.position += len(found)
            done = len(found) == length and self.position != size
        finally:
            if not done:
                self.close()
        return found

    def close(self) -> None:
        if self.answer is not None:
            self.answer.close()
            self.answer = None


async def _ranged(answer: aiohttp.ClientResponse, length: int, handle: FileHandle) -> bytes:
    """The bytes of an answer that is no whole file."""
    async with answer:
        if answer.status == 416:  # nothing from there on
            return b""
        if answer.status != 206:
            raise _trouble(answer, handle)
        return await _read(answer.content, length)


async def _read(content: aiohttp.StreamReader, most: int) -> bytes:
    """Up to *most* bytes, however many there are."""
    found = bytearray()
    while len(found) < most and (piece := await content.read(most - len(found))):
        found += piece
    return bytes(found)


def _trouble(answer: aiohttp.ClientResponse, handle: FileHandle) -> PlatformError:
    if answer.status == 429:
        seconds = answer.headers.get("Retry-After", "")
        pause = timedelta(seconds=int(seconds)) if seconds.isdecimal() and len(seconds) < 7 else _UNNAMED_WAIT
        return AskedToWait(pause, Scope(ScopeKind.METHOD, METHOD))
    if answer.status in _GONE and expiry_of(handle) is not None:
        return HandleExpired("Discord no longer accepts the link to this file; fetch its message again.")
    if answer.status in _GONE:
        return Refused(f"Discord has no such file (status {answer.status}).")
    if answer.status >= 500:
        return PlatformError(f"Discord's file server is in trouble: status {answer.status}.")
    return Refused(f"Discord's file server answered with status {answer.status}, and no other address is followed.")
