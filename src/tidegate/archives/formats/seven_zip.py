"""The list of contents of a 7z, from the header at its end; the first bytes of the file say where that is."""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

from tidegate.archives.formats.archive_bytes import ArchiveEntry, Damaged, Source
from tidegate.archives.formats.seven_zip_header import (
    HEADER,
    PACKED_HEADER,
    HeaderBytes,
    entries,
    streams,
)
from tidegate.archives.formats.seven_zip_packed_header import FILE_START, packed_piece, unpacked_header

SIGNATURE = b"7z\xbc\xaf\x27\x1c"

_MOST_WRAPPINGS = 4


def seven_zip_entries(source: Source) -> Iterator[ArchiveEntry]:
    """The files in a 7z; folders are left out."""
    header = HeaderBytes(_header(source), source.budget)
    if header.ended:
        return  # an empty archive
    for _ in range(_MOST_WRAPPINGS):
        kind = header.byte()
        if kind == HEADER:
            yield from entries(header)
            return
        if kind != PACKED_HEADER:
            break
        header = HeaderBytes(unpacked_header(source, streams(header)), source.budget)
    raise Damaged("the header does not begin as one")


def _header(source: Source) -> bytes:
    start = source.read(0, FILE_START.size)
    signature, _, _, checksum, offset, size, header_checksum = FILE_START.unpack(start)
    if signature != SIGNATURE or crc32(start[12:]) != checksum:
        raise Damaged("the checksum of the start is wrong")
    header = packed_piece(source, offset, size)
    if crc32(header) != header_checksum:
        raise Damaged("the checksum of the header is wrong")
    return header
