"""Samples of 7z archives, and headers made by hand."""

from __future__ import annotations

import struct
from pathlib import Path
from zlib import crc32

SAMPLES = Path(__file__).parent / "samples"
DRAGON = {
    "dragon/head.stl": 2_200,
    "dragon/größe 中文.stl": 550,
    "dragon/readme.txt": 5,
    "dragon/nothing.bin": 0,
}


def sample(name: str) -> bytes:
    return (SAMPLES / f"{name}.7z").read_bytes()


def header_of(content: bytes) -> bytes:
    offset, size = struct.unpack_from("<QQ", content, 12)
    return content[32 + offset : 32 + offset + size]


def with_header(header: bytes, packed: bytes = b"") -> bytes:
    """A 7z of a header with right checksums, behind bytes that it may speak of."""
    start = struct.pack("<QQI", len(packed), len(header), crc32(header))
    return b"7z\xbc\xaf\x27\x1c\x00\x04" + struct.pack("<I", crc32(start)) + start + packed + header
