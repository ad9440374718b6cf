"""Photos for the world: real PNG pictures in three sizes, the same for the same name."""

from __future__ import annotations

import struct
import zlib
from hashlib import shake_256

SIZES = {"m": 40, "x": 100, "y": 160}
"""The sizes a photo is kept in, by the platform's letter for them, and their pixels from edge to edge."""


def photo_sizes(name: str) -> dict[str, bytes]:
    """The same picture in every size, a pattern of the colours that *name* gives."""
    colours = shake_256(name.encode()).digest(48)
    return {letter: _png(pixels, colours) for letter, pixels in SIZES.items()}


def _png(pixels: int, colours: bytes) -> bytes:
    """A square of sixteen fields, four in a row."""
    rows = bytearray()
    for y in range(pixels):
        rows.append(0)  # the row is stored as it is
        for x in range(pixels):
            field = y * 4 // pixels * 4 + x * 4 // pixels
            rows += colours[field * 3 : field * 3 + 3]
    header = struct.pack(">IIBBBBB", pixels, pixels, 8, 2, 0, 0, 0)
    packed = zlib.compress(bytes(rows), 1)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
