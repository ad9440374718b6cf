"""The framing of packets: the two transports Telethon offers, recognised by their first byte."""

from __future__ import annotations

import asyncio
import struct
import zlib
from typing import Protocol

_ABRIDGED = b"\xef"
_LONGEST = 2 << 20  # a part of a file is at most 1 MiB


class BadPacket(Exception):
    """The bytes received are not a packet of this transport; the connection ends."""


class Transport(Protocol):
    """Reads packets from a connection and writes packets to it."""

    async def read(self) -> bytes: ...
    def frame(self, payload: bytes) -> bytes: ...


async def recognise(reader: asyncio.StreamReader) -> Transport:
    """The transport a client chose by its first byte; ``IncompleteReadError`` when it disconnected before that."""
    first = await reader.readexactly(1)
    return Abridged(reader) if first == _ABRIDGED else Full(reader, first)


class Abridged:
    """One byte of length, counted in words of four; longer packets have three more."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def read(self) -> bytes:
        words = (await self._reader.readexactly(1))[0]
        if words == 0x7F:
            words = int.from_bytes(await self._reader.readexactly(3), "little")
        return await self._reader.readexactly(_checked(words * 4))

    def frame(self, payload: bytes) -> bytes:
        words = len(payload) // 4
        return (bytes([words]) if words < 0x7F else b"\x7f" + words.to_bytes(3, "little")) + payload


class Full:
    """Length, number, payload, checksum."""

    def __init__(self, reader: asyncio.StreamReader, first: bytes) -> None:
        self._reader = reader
        self._seen = first  # was read to recognise the transport
        self._sent = 0

    async def read(self) -> bytes:
        head = self._seen + await self._reader.readexactly(8 - len(self._seen))
        self._seen = b""
        rest = await self._reader.readexactly(_checked(struct.unpack_from("<i", head)[0] - 8))
        payload, checksum = rest[:-4], rest[-4:]
        if zlib.crc32(head + payload) != int.from_bytes(checksum, "little"):
            raise BadPacket("The checksum of a packet is wrong.")
        return payload

    def frame(self, payload: bytes) -> bytes:
        packet = struct.pack("<ii", len(payload) + 12, self._sent) + payload
        self._sent += 1
        return packet + struct.pack("<I", zlib.crc32(packet))


def _checked(length: int) -> int:
    if not 4 <= length <= _LONGEST:
        raise BadPacket(f"A packet of {length} bytes is none of ours.")
    return length
