"""Reads files from Discord's CDN and media proxy: no token is sent, no redirect followed, no size believed."""

from __future__ import annotations

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

_PATIENCE = aiohttp.ClientTimeout(total=300, sock_connect=30, sock_read=60)
_UNNAMED_WAIT = timedelta(minutes=1)
_GONE = (403, 404, 410)


class FileReader:
    """Reads ranges of files. A loopback account reads from its loopback Discord, and from no other host."""

    def __init__(self, session: aiohttp.ClientSession, *, loopback: str | None, proxy: str | None = None) -> None:
        """*loopback* is the address of the account's loopback Discord, ``http://127.0.0.1:PORT``."""
        self._session = session
        self._proxy = proxy
        self._loopback = None if loopback is None else urlsplit(loopback).netloc

    async def read(self, handle: FileHandle, offset: int, length: int) -> bytes:
        """The bytes from *offset* on, at most *length*; fewer only at the end of the file."""
        address = self._allowed(handle)
        headers = {"Range": f"bytes={offset}-{offset + length - 1}", "Accept-Encoding": "identity"}
        try:
            async with self._session.get(
                address, headers=headers, allow_redirects=False, timeout=_PATIENCE, proxy=self._proxy
            ) as answer:
                if answer.status == 416:  # nothing from there on
                    return b""
                if answer.status not in (200, 206):
                    raise _trouble(answer, handle)
                skipped = 0 if answer.status == 206 else offset
                return (await _read(answer.content, skipped + length))[skipped:]
        except (aiohttp.ClientError, OSError) as problem:
            raise broken(problem, METHOD) from problem

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
