"""The header of a 7z is usually packed itself: unpacked here, and only as far as it says it reaches."""

from __future__ import annotations

import lzma
import struct

from tidegate.archives.formats.archive_bytes import CutShort, Damaged, Encrypted, NotUnderstood, Source
from tidegate.archives.formats.seven_zip_header import (
    Coder,
    Streams,
)

LARGEST_HEADER = 16 * 1024 * 1024
FILE_START = struct.Struct("<6sBBIQQI")
_COPY, _LZMA, _LZMA2 = b"\x00", b"\x03\x01\x01", b"\x21"


def packed_piece(source: Source, offset: int, size: int) -> bytes:
    """Bytes by their distance from the first that is packed."""
    if FILE_START.size + offset + size > source.size:
        raise Damaged("the header lies beyond the end")
    if size > LARGEST_HEADER:
        raise CutShort
    return source.read(FILE_START.size + offset, size)


def unpacked_header(source: Source, packed: Streams) -> bytes:
    """The header that these packed bytes hold."""
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
    return _decode(folder.coders[0], packed_piece(source, packed.offset, size), folder.size)


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
