"""A small HTTP proxy on this machine: it relays CONNECT for who knows its password, and counts."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

USER, PASSWORD = "reader", "p@ss word"
_KNOWN = base64.b64encode(f"{USER}:{PASSWORD}".encode())


@dataclass
class RelayProxy:
    """Where it listens, and which places it was asked to connect to."""

    port: int = 0
    places: list[str] = field(default_factory=list)

    async def relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client."""
        head = await reader.readuntil(b"\r\n\r\n")
        place = head.split()[1].decode()
        if b"Basic " + _KNOWN not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            writer.close()
            return
        self.places.append(place)
        host, _, port = place.rpartition(":")
        there, back = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_copy(reader, back), _copy(there, writer))


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
