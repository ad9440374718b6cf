"""The list of contents of a 7z, from the header at its end, which the few bytes at its start lead to.

The header is usually packed itself. Only that is unpacked, and only as far as it says it reaches.
"""

from __future__ import annotations

import lzma
import struct
from collections.abc import Iterator
from zlib import crc32

from tidegate.archives.formats.archive_bytes import ArchiveEntry, CutShort, Damaged, Encrypted, NotUnderstood, Source
from tidegate.archives.formats.seven_zip_header import (
    HEADER,
    PACKED_HEADER,
    Coder,
    HeaderBytes,
    Streams,
    entries,
    streams,
)

SIGNATURE = b"7z\xbc\xaf\x27\x1c"
LARGEST_HEADER = 16 * 1024 * 1024

_START = struct.Struct("<6sBBIQQI")
_COPY, _LZMA, _LZMA2 = b"\x00", b"\x03\x01\x01", b"\x21"
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
        header = HeaderBytes(_unpack(source, streams(header)), source.budget)
    raise Damaged("the header does not begin as one")


def _header(source: Source) -> bytes:
    start = source.read(0, _START.size)
    signature, _, _, checksum, offset, size, header_checksum = _START.unpack(start)
    if signature != SIGNATURE or crc32(start[12:]) != checksum:
        raise Damaged("the checksum of the start is wrong")
    header = _piece(source, offset, size)
    if crc32(header) != header_checksum:
        raise Damaged("the checksum of the header is wrong")
    return header


def _piece(source: Source, offset: int, size: int) -> bytes:
    """Bytes by their distance from the first that is packed."""
    if _START.size + offset + size > source.size:
        raise Damaged("the header lies beyond the end")
    if size > LARGEST_HEADER:
        raise CutShort
    return source.read(_START.size + offset, size)


def _unpack(source: Source, packed: Streams) -> bytes:
    if len(packed.folders) != 1 or len(packed.sizes) != 1:
        raise Damaged("the packed header is not one piece")
    [folder], [size] = packed.folders, packed.sizes
    if folder.encrypted:
        raise Encrypted
    if folder.size > LARGEST_HEADER:
        raise CutShort
    source.budget.spend_inflated(folder.size)
    if len(folder.coders) != 1:
        raise NotUnderstood("the header is packed in several steps")
    return _decode(folder.coders[0], _piece(source, packed.offset, size), folder.size)


def _decode(coder: Coder, content: bytes, size: int) -> bytes:
    if coder.method == _COPY:
        return content
    if coder.method not in (_LZMA, _LZMA2):
        raise NotUnderstood("the header is packed by a method that is not read here")
    unpacked = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[_settings(coder, size)]).decompress(content, size)
    if len(unpacked) != size:
        raise Damaged("the packed header breaks off")
    return unpacked


def _settings(coder: Coder, size: int) -> dict[str, int]:
    """How to unpack it. It never has to look back further than to the first byte, whatever window is announced."""
    window = max(size, 4096)
    if coder.method == _LZMA2:
        return {"id": lzma.FILTER_LZMA2, "dict_size": window}
    packed, _ = struct.unpack("<BI", coder.properties)
    rest, context = divmod(packed, 9)
    position, literal = divmod(rest, 5)
    return {"id": lzma.FILTER_LZMA1, "dict_size": window, "lc": context, "lp": literal, "pb": position}
