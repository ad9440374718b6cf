"""The headers of a RAR as written since version 5.

Its packer may keep copies of the headers together near the end. Where it did they are read from there, so that a large
archive is listed without going from file to file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

from tidegate.archives.formats.archive_bytes import ArchiveEntry, Damaged, Encrypted, HeaderFields, Source, WorkBudget
from tidegate.archives.formats.rar_block import Block

SIGNATURE = b"Rar!\x1a\x07\x01\x00"

_ARCHIVE, _A_FILE, _SERVICE, _ENCRYPTION, _END = 1, 2, 3, 4, 5
_HAS_EXTRA, _HAS_DATA, _BEGUN_BEFORE, _GOES_ON = 0x01, 0x02, 0x08, 0x10
_FOLDER, _HAS_TIME, _HAS_CHECKSUM = 0x01, 0x02, 0x04
_NEXT_VOLUME = 0x01
_LOCATOR, _ENCRYPTED = 1, 1
_COPIES_PLACE = 0x01
_LONGEST_NUMBER = 10
_LARGEST_HEADER = 2 * 1024 * 1024
_LARGEST_COPIES = 16 * 1024 * 1024


class _Fields(HeaderFields):
    """The fields of a header, with their numbers."""

    def number(self) -> int:
        """Seven bits a byte, the lowest first; the eighth says that another byte follows."""
        number = 0
        for place in range(_LONGEST_NUMBER):
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << (7 * place)
            if not byte & 0x80:
                return number
        raise Damaged("a number has no end")


@dataclass(frozen=True, slots=True)
class _Header:
    """A header whose checksum was right."""

    kind: int
    flags: int
    fields: _Fields
    records: dict[int, bytes]
    length: int  # of the header itself
    data: int  # the length of the data that follows it


def rar5_blocks(source: Source, position: int, end: int) -> Iterator[Block]:
    """The blocks from *position* to the end of the volume."""
    copies: dict[int, bytes] | None = None
    while position < end:
        source.budget.spend()
        header = _parse((copies or {}).get(position) or _read(source, position, end), source.budget)
        if header.kind == _ENCRYPTION:
            raise Encrypted
        if header.kind == _ARCHIVE and copies is None:  # a volume has one such header; further ones are ignored
            copies = _copies(source, position, end, header)
        if header.kind == _END:
            yield Block(followed=bool(header.fields.number() & _NEXT_VOLUME))
            return
        if header.kind == _A_FILE:
            yield _file(header)
        position += header.length + header.data
    if position != end:
        raise Damaged("a file reaches beyond the end of its volume")


def _read(source: Source, position: int, end: int) -> bytes:
    """A header with the checksum and the size in front of it."""
    start = source.read(position, min(7, end - position))
    fields = _Fields(start)
    fields.take(4)
    length = fields.number() + fields.at
    if length > _LARGEST_HEADER or position + length > end:
        raise Damaged("a header is larger than any")
    return source.read(position, length)


def _parse(content: bytes, budget: WorkBudget) -> _Header:
    outer = _Fields(content)
    checksum = int.from_bytes(outer.take(4), "little")
    size = outer.number()
    if outer.at + size != len(content) or crc32(content[4:]) != checksum:
        raise Damaged("the checksum of a header is wrong")
    fields = _Fields(outer.take(size))
    kind, flags = fields.number(), fields.number()
    extra = fields.number() if flags & _HAS_EXTRA else 0
    data = fields.number() if flags & _HAS_DATA else 0
    if extra > size:
        raise Damaged("records reach beyond their header")
    records = _records(content[len(content) - extra :], budget) if extra else {}
    return _Header(kind, flags, fields, records, len(content), data)


def _records(extra: bytes, budget: WorkBudget) -> dict[int, bytes]:
    fields = _Fields(extra)
    records: dict[int, bytes] = {}
    while not fields.ended:
        budget.spend()
        record = _Fields(fields.take(fields.number()))
        kind = record.number()
        records.setdefault(kind, record.rest())
    return records


def _file(header: _Header) -> Block:
    fields = header.fields
    flags, size, _ = fields.number(), fields.number(), fields.number()
    fields.take(4 * bool(flags & _HAS_TIME) + 4 * bool(flags & _HAS_CHECKSUM))
    _, _ = fields.number(), fields.number()
    name = fields.take(fields.number()).decode(errors="replace")
    entry = None if flags & _FOLDER else ArchiveEntry(name, size, _ENCRYPTED in header.records)
    return Block(entry, bool(header.flags & _BEGUN_BEFORE), bool(header.flags & _GOES_ON))


# Copies of headers


def _copies(source: Source, position: int, end: int, archive: _Header) -> dict[int, bytes]:
    """The headers that are kept together, by their place; none where that list is not as it should be."""
    place = _place_of_copies(archive)
    if not place or position + place >= end:
        return {}
    try:
        block = _read(source, position + place, end)
        service = _parse(block, source.budget)
        if service.kind != _SERVICE or service.data > _LARGEST_COPIES:
            return {}
        content = source.read(position + place + len(block), service.data)
        return _read_copies(content, position + place, source.budget)
    except Damaged:
        return {}


def _place_of_copies(archive: _Header) -> int | None:
    """How far behind the archive's header they stand, if it says so."""
    if _LOCATOR not in archive.records:
        return None
    fields = _Fields(archive.records[_LOCATOR])
    has_place = fields.number() & _COPIES_PLACE
    return fields.number() if has_place else None


def _read_copies(content: bytes, place: int, budget: WorkBudget) -> dict[int, bytes]:
    fields = _Fields(content)
    copies: dict[int, bytes] = {}
    while not fields.ended:
        budget.spend()
        fields.take(4)
        record = _Fields(fields.take(fields.number()))
        _, back = record.number(), record.number()
        copies[place - back] = record.take(record.number())
    return copies
