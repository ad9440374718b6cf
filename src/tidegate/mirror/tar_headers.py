"""The list of contents of a tar, header by header; what lies between them is skipped, or inflated and forgotten.

A packed tar has to be inflated from its start. How much of it, and to how many bytes, is bounded.
"""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

from tidegate.mirror.archive_bytes import CutShort, Damaged, Entry, NotUnderstood, Source

GZIP, XZ, ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
RECORD = 512
MOST_INFLATED = 256 * 1024 * 1024

_STEP = 1024 * 1024
_LONGEST_NOTE = 1024 * 1024
_LONG_NAME, _NOTES, _SPARSE = b"L", b"x", b"S"
_FILES = (b"0", b"\x00", b"7", b"1", _SPARSE)
_OF_NO_USE = (b"g", b"K")  # notes for all files, and where a link with a long name leads

Notes = dict[str, str]


class Bytes(Protocol):
    """Bytes by their place; asked for from the front to the back."""

    def read(self, offset: int, length: int) -> bytes:
        """So many bytes; fewer, or ``Damaged``, where there are no more."""


def tar_entries(source: Source) -> Iterator[Entry]:
    """The files in a tar, plain or packed with gzip or xz; folders, links by name and devices are left out."""
    start = source.read(0, min(RECORD, source.size))
    if start.startswith(ZSTD):
        raise NotUnderstood("there is no reader of zstd here")
    if start.startswith(GZIP):
        yield from _walk(_Inflated(source, _Gzip))
    elif start.startswith(XZ):
        yield from _walk(_Inflated(source, lzma.LZMADecompressor))
    else:
        yield from _walk(_Plain(source))


def is_header(record: bytes) -> bool:
    """Whether these bytes are the header of a file in a tar, by their own checksum."""
    return len(record) == RECORD and any(record) and _checksum(record) == _stored_checksum(record)


def _walk(source: Bytes) -> Iterator[Entry]:
    position = 0
    notes: Notes = {}
    while any(record := source.read(position, RECORD)):
        if not is_header(record):
            raise Damaged("a header does not add up")
        size, kind = _number(record[124:136]), record[156:157]
        position += RECORD
        if kind in (_LONG_NAME, _NOTES):
            notes |= _read_notes(kind, _read_note(source, position, size))
        elif kind not in _OF_NO_USE:
            size = int(notes.get("size", size))
            path = notes.get("GNU.sparse.name") or notes.get("path") or _path(record)
            position += _sparse_records(source, position, record) if kind == _SPARSE else 0
            if kind in _FILES and not path.endswith("/"):
                yield Entry(path, _real_size(record, notes, size))
            notes = {}
        if size < 0:
            raise Damaged("a file of less than nothing")
        position += -(-size // RECORD) * RECORD


def _read_note(source: Bytes, position: int, size: int) -> bytes:
    if not 0 <= size <= _LONGEST_NOTE:
        raise Damaged("a name is longer than any")
    return _all(source, position, size)


def _all(source: Bytes, position: int, length: int) -> bytes:
    content = source.read(position, length)
    if len(content) < length:
        raise Damaged("the archive breaks off")
    return content


def _read_notes(kind: bytes, content: bytes) -> Notes:
    """What a header in front of a file's own says of it: its long name, or lines of the form ``24 path=a/b.stl``."""
    if kind == _LONG_NAME:
        return {"path": content.rstrip(b"\x00").decode(errors="replace")}
    notes: Notes = {}
    while content.strip(b"\x00"):
        digits, _, _ = content.partition(b" ")
        length = int(digits[:20])
        if not len(digits) + 2 <= length <= len(content):
            raise Damaged("a line of notes does not end where it says")
        name, _, value = content[len(digits) + 1 : length - 1].partition(b"=")
        notes[name.decode(errors="replace")] = value.decode(errors="replace")
        content = content[length:]
    return notes


def _path(record: bytes) -> str:
    name, prefix = (_text(record[:100]), _text(record[345:500]))
    is_posix = record[257:263] == b"ustar\x00"  # elsewhere other things stand in the place of the prefix
    return f"{prefix}/{name}" if prefix and is_posix else name


def _text(field: bytes) -> str:
    return field.partition(b"\x00")[0].decode(errors="replace")


def _number(field: bytes) -> int:
    """Octal digits, or a large number in binary."""
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big") if field[0] == 0x80 else -1
    return int(field.strip(b" \x00") or b"0", 8)


def _checksum(record: bytes) -> int:
    return sum(record[:148]) + 8 * ord(" ") + sum(record[156:])


def _stored_checksum(record: bytes) -> int:
    digits = record[148:156].strip(b" \x00")
    return int(digits, 8) if digits.isdigit() and not set(digits) & set(b"89") else -1


def _real_size(record: bytes, notes: Notes, size: int) -> int:
    """The size of a file with holes is that with them, wherever its packer wrote that down."""
    if record[156:157] == _SPARSE:
        return _number(record[483:495])
    return int(notes.get("GNU.sparse.realsize") or notes.get("GNU.sparse.size") or size)


def _sparse_records(source: Bytes, position: int, record: bytes) -> int:
    """The bytes that a list of holes takes up behind its header, when it does not fit in there."""
    taken, more = 0, record[482]
    while more:
        more = _all(source, position + taken, RECORD)[504]
        taken += RECORD
    return taken


class _Plain:
    """A tar that is not packed; it may end without the empty records that should end it."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def read(self, offset: int, length: int) -> bytes:
        return b"" if offset == self._source.size else self._source.read(offset, length)


class _Unpacker(Protocol):
    """One stream being inflated, a bounded step at a time."""

    def decompress(self, data: bytes, max_length: int) -> bytes: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...


class _Gzip:
    """Gzip with the manners of the standard library's other unpackers."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(wbits=31)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inflate.decompress(self._inflate.unconsumed_tail + data, max_length)

    @property
    def needs_input(self) -> bool:
        return not self._inflate.unconsumed_tail  # the checksum at the end is left over until all else is inflated

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data


class _Inflated:
    """The inflated bytes of one or more streams, which can only be read onwards."""

    def __init__(self, source: Source, unpacker: Callable[[], _Unpacker]) -> None:
        self._source = source
        self._make = unpacker
        self._unpacker = unpacker()
        self._begun = False
        self._fetched = 0
        self._held = b""
        self._start = 0  # where in the inflated bytes the held ones begin

    def read(self, offset: int, length: int) -> bytes:
        while self._start + len(self._held) < offset + length:
            dropped = min(offset - self._start, len(self._held))
            self._held = self._held[dropped:]
            self._start += dropped
            step = self._inflate()
            if step is None:
                break
            self._held += step
            if self._start + len(self._held) > MOST_INFLATED:
                raise CutShort
        return self._held[offset - self._start : offset - self._start + length]

    def _inflate(self) -> bytes | None:
        """The next bytes, perhaps none; None at the end of the last stream. One that breaks off is damaged."""
        data = b""
        if self._unpacker.eof:
            data, self._unpacker, self._begun = self._unpacker.unused_data, self._make(), False
        if self._unpacker.needs_input and not data:
            data = self._source.run(self._fetched)
            self._fetched += len(data)
            if not data and not self._begun:
                return None
            if not data:
                raise Damaged("the packed bytes break off")
        self._begun = True
        return self._unpacker.decompress(data, _STEP)
