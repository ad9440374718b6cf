"""A small HTTP and SOCKS5 proxy on this machine: it relays for who knows its password, and counts."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from urllib.parse import quote, urlsplit

USER, PASSWORD = "reader", "p@ss word"
KNOWN = base64.b64encode(f"{USER}:{PASSWORD}".encode())
"""Name and password as a client sends them."""


@dataclass
class RelayProxy:
    """Where it listens, and which places it was asked to connect to. Requests that hold *refused* get a 407."""

    port: int = 0
    places: list[str] = field(default_factory=list)
    refused: bytes | None = None

    @property
    def url(self) -> str:
        """Its whole address, with the password."""
        return self.url_as("http")

    def url_as(self, scheme: str, password: str = PASSWORD) -> str:
        """Its whole address as a proxy of that kind."""
        return f"{scheme}://{USER}:{quote(password)}@127.0.0.1:{self.port}"

    async def relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client, which speaks SOCKS5 or HTTP."""
        first = await reader.readexactly(1)
        if first == b"\x05":
            await self._relay_socks(reader, writer)
            return
        head = first + await reader.readuntil(b"\r\n\r\n")
        method, target = head.decode("latin-1").split()[:2]
        if b"Basic " + KNOWN not in head or (self.refused is not None and self.refused in head):
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            writer.close()
            return
        place = target if method == "CONNECT" else urlsplit(target).netloc
        self.places.append(place)
        host, _, port = place.rpartition(":")
        there, back = await asyncio.open_connection(host, int(port))
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            back.write(_passed_on(head, target))
        await asyncio.gather(_copy(reader, back), _copy(there, writer))

    async def _relay_socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """SOCKS5 (RFC 1928) with a user name and password (RFC 1929); only CONNECT."""
        offered = await reader.readexactly((await reader.readexactly(1))[0])
        writer.write(b"\x05\x02" if 2 in offered else b"\x05\xff")
        known = 2 in offered and await _said_password(reader)
        if 2 in offered:
            writer.write(b"\x01\x00" if known else b"\x01\x01")
        if not known:
            writer.close()
            return
        _, command, _, kind = await reader.readexactly(4)
        assert command == 1
        host = str(IPv4Address(await reader.readexactly(4))) if kind == 1 else (await _sized(reader)).decode()
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.places.append(f"{host}:{port}")
        there, back = await asyncio.open_connection(host, port)
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        await asyncio.gather(_copy(reader, back), _copy(there, writer))


async def _said_password(reader: asyncio.StreamReader) -> bool:
    await reader.readexactly(1)
    return (await _sized(reader), await _sized(reader)) == (USER.encode(), PASSWORD.encode())


async def _sized(reader: asyncio.StreamReader) -> bytes:
    """Bytes after a byte that counts them."""
    return await reader.readexactly((await reader.readexactly(1))[0])


def _passed_on(head: bytes, target: str) -> bytes:
    """The request as its server reads it; a connection serves one request, so that each is counted."""
    parts = urlsplit(target)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    head = head.replace(target.encode(), path.encode(), 1)
    return head if b"Upgrade:" in head else head[:-2] + b"Connection: close\r\n\r\n"


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while piece := await source.read(1 << 16):
            target.write(piece)
            await target.drain()
    target.close()


@asynccontextmanager
async def relay_proxy() -> AsyncIterator[RelayProxy]:
    """A proxy for the time of the block."""
    proxy = RelayProxy()
    server = await asyncio.start_server(proxy.relay, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    async with server:
        yield proxy
