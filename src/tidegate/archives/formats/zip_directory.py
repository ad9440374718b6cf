"""The list of contents of a zip, from the directory at its tail; nothing is inflated, so a zip bomb does no harm.

The directory is found by its own size from the end record backwards and not by the offset that is stored there. So one
reader serves a plain zip, one with something in front of it, and volumes read one after the other.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tidegate.archives.formats.archive_bytes import ArchiveEntry, ArchiveListing, Damaged, Source, WorkBudget

_END = struct.Struct("<4sHHHHIIH")
_END64_LOCATOR = struct.Struct("<4sIQI")
_END64 = struct.Struct("<4sQHHIIQQQQ")
_ENTRY = struct.Struct("<4sHHHHHHIIIHHHHHII")
_LONGEST_COMMENT = 0xFFFF
_FULL, _MANY_DISKS = 0xFFFFFFFF, 0xFFFF
_ENCRYPTED, _UTF8 = 0x0001, 0x0800


def zip_entries(source: Source, listing: ArchiveListing) -> Iterator[ArchiveEntry]:
    """The files in a zip in the order of its directory; folders are left out."""
    listing.volumes = _volumes(source)
    position, stop = _directory(source)
    while position < stop:
        source.budget.spend()
        fields = _ENTRY.unpack(source.read(position, _ENTRY.size))
        if fields[0] != b"PK\x01\x02":
            raise Damaged("an entry of the directory is none")
        flags, size, name_length, extra_length, comment_length = fields[3], fields[9], *fields[10:13]
        rest = source.read(position + _ENTRY.size, name_length + extra_length)
        position += _ENTRY.size + name_length + extra_length + comment_length
        name, extra = rest[:name_length], rest[name_length:]
        path = name.decode("utf-8" if flags & _UTF8 else "cp437", errors="replace")
        if not path.endswith("/"):
            real_size = _long_size(extra, source.budget) if size == _FULL else size
            yield ArchiveEntry(path, real_size, bool(flags & _ENCRYPTED))
    if position != stop:
        raise Damaged("the directory's last entry reaches beyond its end")


def _volumes(source: Source) -> int:
    """Of how many volumes the archive says it is; 1 for one that stands alone."""
    at, end = _find_end(source)
    place = at - _END64_LOCATOR.size
    if end[1] != _MANY_DISKS or place < 0:
        return end[1] + 1
    mark, _, _, disks = _END64_LOCATOR.unpack(source.read(place, _END64_LOCATOR.size))
    return int(disks) if mark == b"PK\x06\x07" else end[1] + 1


def _directory(source: Source) -> tuple[int, int]:
    """Where the directory begins and ends."""
    at, end = _find_end(source)
    length, stop = end[5], at
    if length == _FULL or end[4] == _MANY_DISKS or end[6] == _FULL:
        stop, length = _end64(source, at) or (stop, length)
    return stop - length, stop  # one that is announced as too large begins before the archive, where nothing is read


def _find_end(source: Source) -> tuple[int, tuple[int, ...]]:
    """The end record: near the very end, with only a comment after it. Most have none, so a little is read first."""
    for reach in (1024, _END.size + _LONGEST_COMMENT):
        length = min(reach, source.size)
        tail = source.read(source.size - length, length)
        place = tail.rfind(b"PK\x05\x06")
        while place >= 0:
            if place + _END.size <= length:
                fields = _END.unpack_from(tail, place)
                if place + _END.size + fields[7] <= length:
                    return source.size - length + place, fields
            place = tail.rfind(b"PK\x05\x06", 0, place)
    raise Damaged("there is no end record")


def _end64(source: Source, end: int) -> tuple[int, int] | None:
    """Where the directory of a zip with large numbers ends and how long it is; None when it has no such record."""
    place = end - _END64_LOCATOR.size
    if place < _END64.size or source.read(place, 4) != b"PK\x06\x07":
        return None
    record = place - _END64.size
    fields = _END64.unpack(source.read(record, _END64.size))
    if fields[0] != b"PK\x06\x06":
        raise Damaged("the large end record is not where it should be")
    return record, fields[8]


def _long_size(extra: bytes, budget: WorkBudget) -> int:
    """The size of an entry above 4 GiB, which stands first in the extra field of its kind."""
    place = 0
    while place + 4 <= len(extra):
        budget.spend()
        kind, length = struct.unpack_from("<HH", extra, place)
        if kind == 1 and 8 <= length <= len(extra) - place - 4:
            return int(struct.unpack_from("<Q", extra, place + 4)[0])
        place += 4 + length
    return _FULL
