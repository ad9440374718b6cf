"""Writes RAR volumes of both generations that store their files as they are; no packer of RARs is at hand."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from zlib import crc32

from tests.archives.archive_reading import Sparse

UNICODE = 0x0200


@dataclass(frozen=True)
class Stored:
    """A file, or that stretch of it which lies in one volume. Its bytes are zero and cost nothing."""

    name: bytes
    size: int
    here: int = -1
    begun_before: bool = False
    goes_on: bool = False
    encrypted: bool = False
    folder: bool = False
    flags: int = 0

    @property
    def data(self) -> int:
        return self.size if self.here < 0 else self.here


@dataclass(frozen=True)
class Habits:
    """How a volume is written. *end*: with a block that says whether another *followed* it."""

    followed: bool = False
    end: bool = True
    hidden: bool = False
    copies: bool = False


PLAIN = Habits()


def in_volumes(files: Sequence[Stored], largest: int) -> list[list[Stored]]:
    """Files spread over volumes of so many stored bytes each."""
    volumes: list[list[Stored]] = [[]]
    room = largest
    for file in files:
        left = file.size
        while left > room:
            if room:
                volumes[-1].append(replace(file, here=room, begun_before=left < file.size, goes_on=True))
            volumes.append([])
            left, room = left - room, largest
        volumes[-1].append(replace(file, here=left, begun_before=left < file.size))
        room -= left
    return volumes


# Up to version 4


def rar4(files: Sequence[Stored], policy: Habits = PLAIN) -> Sparse:
    volume = Sparse()
    volume.write(b"Rar!\x1a\x07\x00")
    volume.write(block4(0x73, 0x0080 if policy.hidden else 0, bytes(6)))
    for file in files:
        volume.write(_file4(file))
        volume.skip(file.data)
    if policy.end:
        volume.write(block4(0x7B, 0x4000 | policy.followed, b""))
    return volume


def _file4(file: Stored) -> bytes:
    flags = 0x8000 | file.flags | file.begun_before | file.goes_on << 1 | file.encrypted << 2
    flags |= 0x00E0 if file.folder else 0
    is_large = max(file.size, file.data) >> 32 > 0
    low = (file.data & 0xFFFFFFFF, file.size & 0xFFFFFFFF)
    fields = struct.pack("<IIBIIBBHI", *low, 2, 0, 0, 29, 0x30, len(file.name), 0)
    high = struct.pack("<II", file.data >> 32, file.size >> 32) if is_large else b""
    return block4(0x74, flags | (0x0100 if is_large else 0), fields + high + file.name)


def block4(kind: int, flags: int, fields: bytes) -> bytes:
    checked = struct.pack("<BHH", kind, flags, 7 + len(fields)) + fields
    return struct.pack("<H", crc32(checked) & 0xFFFF) + checked


# Since version 5


def rar5(files: Sequence[Stored], policy: Habits = PLAIN) -> Sparse:
    """With *copies* of the headers near the end, as a packer adds them for quick opening."""
    headers = [_file5(file) for file in files]
    between = sum(len(header) for header in headers) + sum(file.data for file in files)
    volume = Sparse()
    volume.write(b"Rar!\x1a\x07\x01\x00")
    start = volume.size
    if policy.hidden:
        volume.write(block5(4, 0, number5(0) + number5(0) + bytes(17)))
    locator_size = len(main5(0))
    volume.write(main5(locator_size + between) if policy.copies else block5(1, 0, number5(0)))
    places: list[int] = []
    for file, header in zip(files, headers, strict=True):
        places.append(volume.size)
        volume.write(header)
        volume.skip(file.data)
    if policy.copies:
        assert volume.size == start + locator_size + between
        volume.write(_copies5(volume.size, dict(zip(places, headers, strict=True))))
    if policy.end:
        volume.write(block5(5, 0, number5(policy.followed)))
    return volume


def main5(place: int) -> bytes:
    """The archive's header; the place of the copies takes as many bytes whatever it is."""
    wide = bytes([place >> 7 * step & 0x7F | (0x80 if step < 6 else 0) for step in range(7)])
    record = number5(1) + number5(1) + wide
    return block5(1, 1, number5(0), extra=number5(len(record)) + record)


def _copies5(place: int, headers: dict[int, bytes]) -> bytes:
    data = b""
    for at, header in headers.items():
        record = number5(0) + number5(place - at) + number5(len(header)) + header
        sized = number5(len(record)) + record
        data += struct.pack("<I", crc32(sized)) + sized
    fields = number5(0) + number5(len(data)) + number5(0) * 3 + number5(2) + b"QO"
    return block5(3, 2, fields, data=len(data)) + data


def _file5(file: Stored) -> bytes:
    flags = 2 | file.begun_before << 3 | file.goes_on << 4 | (1 if file.encrypted else 0)
    fields = number5(1 if file.folder else 0) + number5(file.size) + number5(0) * 3
    record = number5(1) + bytes(40)
    extra = number5(len(record)) + record if file.encrypted else b""
    return block5(2, flags, fields + number5(len(file.name)) + file.name, data=file.data, extra=extra)


def block5(kind: int, flags: int, fields: bytes, *, data: int = 0, extra: bytes = b"") -> bytes:
    start = number5(kind) + number5(flags)
    start += number5(len(extra)) if flags & 1 else b""
    start += number5(data) if flags & 2 else b""
    checked = number5(len(start) + len(fields) + len(extra)) + start + fields + extra
    return struct.pack("<I", crc32(checked)) + checked


def number5(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])
