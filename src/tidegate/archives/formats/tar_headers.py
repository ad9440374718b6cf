"""The list of contents of a tar, header by header; the data between them is skipped, or inflated and dropped.

A packed tar has to be inflated from its start. How much of it, and to how many bytes, is bounded.
"""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

from tidegate.archives.formats.archive_bytes import ArchiveEntry, Damaged, NotUnderstood, Source, WorkBudget

GZIP, XZ, ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
RECORD = 512

_STEP = 1024 * 1024
_LARGEST_FEED = 16 * 1024  # what is left of it behind a stream's end is copied, and streams may be very short
_LONGEST_NOTE = 1024 * 1024
_LONGEST_NUMBER = 20
_LONG_NAME, _NOTES, _SPARSE = b"L", b"x", b"S"
_FILES = (b"0", b"\x00", b"7", b"1", _SPARSE)
_OF_NO_USE = (b"g", b"K")  # notes for all files, and where a link with a long name leads

_USED_NOTES = ("path", "size", "GNU.sparse.name", "GNU.sparse.realsize", "GNU.sparse.size")

Notes = dict[str, str]


class Bytes(Protocol):
    """Bytes by their place; asked for from the front to the back."""

    def read(self, offset: int, length: int) -> bytes:
        """*length* bytes; fewer, or ``Damaged``, where the archive ends."""


def tar_entries(source: Source) -> Iterator[ArchiveEntry]:
    """The files in a tar, plain or packed with gzip or xz; folders, links by name and devices are left out."""
    start = source.read(0, min(RECORD, source.size))
    if start.startswith(ZSTD):
        raise NotUnderstood("there is no reader of zstd here")
    if start.startswith(GZIP):
        yield from _walk(_Inflated(source, _Gzip), source.budget)
    elif start.startswith(XZ):
        yield from _walk(_Inflated(source, lzma.LZMADecompressor), source.budget)
    else:
        yield from _walk(_Plain(source), source.budget)


def is_header(record: bytes) -> bool:
    """Whether these bytes are the header of a file in a tar, by their own checksum."""
    return len(record) == RECORD and any(record) and _checksum(record) == _stored_checksum(record)


def _walk(source: Bytes, budget: WorkBudget) -> Iterator[ArchiveEntry]:
    position = 0
    notes: Notes = {}
    while any(record := source.read(position, RECORD)):
        budget.spend()
        if not is_header(record):
            raise Damaged("the checksum of a header is wrong")
        size, kind = _number(record[124:136]), record[156:157]
        position += RECORD
        if kind in (_LONG_NAME, _NOTES):
            notes |= _read_notes(kind, _read_note(source, position, size), budget)
        elif kind not in _OF_NO_USE:
            size = int(notes.get("size", size))
            path = notes.get("GNU.sparse.name") or notes.get("path") or _path(record)
            position += _sparse_records(source, position, record, budget) if kind == _SPARSE else 0
            if kind in _FILES and not path.endswith("/"):
                yield ArchiveEntry(path, _real_size(record, notes, size))
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


def _read_notes(kind: bytes, content: bytes, budget: WorkBudget) -> Notes:
    """What a header in front of a file's own says of it: its long name, or lines of the form ``24 path=a/b.stl``."""
    content = content.rstrip(b"\x00")
    if kind == _LONG_NAME:
        return {"path": content.decode(errors="replace")}
    notes: Notes = {}
    at = 0
    while at < len(content):
        budget.spend()
        space = content.find(b" ", at, at + _LONGEST_NUMBER)
        end = at + int(content[at : max(space, at)])
        if not space + 2 <= end <= len(content):
            raise Damaged("a line of notes does not end where it says")
        name, _, value = content[space + 1 : end - 1].partition(b"=")
        if (known := name.decode(errors="replace")) in _USED_NOTES:
            notes[known] = value.decode(errors="replace")
        at = end
    return notes


def _path(record: bytes) -> str:
    name, prefix = (_text(record[:100]), _text(record[345:500]))
    is_posix = record[257:263] == b"ustar\x00"  # other formats store other fields in place of the prefix
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
    """The size of a sparse file with its holes, wherever the packer stored it."""
    if record[156:157] == _SPARSE:
        return _number(record[483:495])
    return int(notes.get("GNU.sparse.realsize") or notes.get("GNU.sparse.size") or size)


def _sparse_records(source: Bytes, position: int, record: bytes, budget: WorkBudget) -> int:
    """The number of bytes that the list of holes takes after its header, when it does not fit into the header."""
    taken, more = 0, record[482]
    while more:
        budget.spend()
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
    """Gzip with the same interface as the standard library's other decompressors."""

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
        self._run = memoryview(b"")  # what was fetched and not handed to the unpacker yet
        self._held = bytearray()
        self._start = 0  # where in the inflated bytes the held ones begin

    def read(self, offset: int, length: int) -> bytes:
        while self._start + len(self._held) < offset + length:
            dropped = min(offset - self._start, len(self._held))
            del self._held[:dropped]
            self._start += dropped
            step = self._inflate()
            if step is None:
                break
            self._source.budget.spend_inflated(len(step))
            self._held += step
        return bytes(self._held[offset - self._start : offset - self._start + length])

    def _inflate(self) -> bytes | None:
        """The next bytes, perhaps none; None at the end of the last stream. One that breaks off is damaged."""
        data = b""
        if self._unpacker.eof:
            self._source.budget.spend()
            data, self._unpacker, self._begun = self._unpacker.unused_data, self._make(), False
        if self._unpacker.needs_input and not data:
            data = self._feed()
            if not data and not self._begun:
                return None
            if not data:
                raise Damaged("the packed bytes break off")
        self._begun = True
        return self._unpacker.decompress(data, _STEP)

    def _feed(self) -> bytes:
        """The next packed bytes; none at the end of the archive."""
        if not self._run:
            self._run = memoryview(self._source.run(self._fetched))
            self._fetched += len(self._run)
        fed, self._run = self._run[:_LARGEST_FEED], self._run[_LARGEST_FEED:]
        return bytes(fed)
