"""Bytes of files that nobody gave: small real pictures and animations, the same for the same name."""

from __future__ import annotations

import json
import struct
import zlib
from hashlib import sha256, shake_256

_PIXELS = 16
PICTURE_SIZE = {"width": _PIXELS, "height": _PIXELS}
"""The fields by which Discord tells the size of a picture."""

STICKER_ENDINGS = {1: "png", 2: "png", 3: "json", 4: "gif"}
"""How the file of a sticker ends, by the number of its format."""


def sample_bytes(name: str, size: int | None = None) -> bytes:
    """A real file where the ending is that of a picture or an animation and no size was asked for."""
    ending = name.rpartition(".")[2].lower()
    if size is None and ending in _MAKERS:
        return _MAKERS[ending](name)
    wanted = 256 if size is None else size
    return (sha256(name.encode(errors="replace")).digest() * (wanted // 32 + 1))[:wanted]


def sticker_bytes(number: str, format_type: int) -> bytes:
    """The file of a sticker: PNG, animated PNG, Lottie or GIF."""
    name = f"{number}.{STICKER_ENDINGS.get(format_type, 'png')}"
    return _apng(name) if format_type == 2 else sample_bytes(name)


def _png(name: str) -> bytes:
    return _image([_chunk(b"IDAT", _pixels(name))])


def _apng(name: str) -> bytes:
    """Two frames of a tenth of a second each."""
    timing = struct.pack(">IIIIHHBB", _PIXELS, _PIXELS, 0, 0, 1, 10, 0, 0)
    return _image(
        [
            _chunk(b"acTL", struct.pack(">II", 2, 0)),
            _chunk(b"fcTL", struct.pack(">I", 0) + timing),
            _chunk(b"IDAT", _pixels(name)),
            _chunk(b"fcTL", struct.pack(">I", 1) + timing),
            _chunk(b"fdAT", struct.pack(">I", 2) + _pixels(f"{name} again")),
        ]
    )


def _image(chunks: list[bytes]) -> bytes:
    header = _chunk(b"IHDR", struct.pack(">IIBBBBB", _PIXELS, _PIXELS, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + _chunk(b"IEND", b"")


def _pixels(name: str) -> bytes:
    """Rows of one colour each, stored as they are."""
    colours = shake_256(name.encode(errors="replace")).digest(3 * _PIXELS)
    rows = (b"\x00" + colours[3 * row : 3 * row + 3] * _PIXELS for row in range(_PIXELS))
    return zlib.compress(b"".join(rows), 1)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _gif(name: str) -> bytes:
    """One pixel of the colour that the name gives."""
    colour = sha256(name.encode(errors="replace")).digest()[:3]
    screen = struct.pack("<HH", 1, 1) + b"\x80\x00\x00" + colour + b"\x00\x00\x00"
    return b"GIF89a" + screen + b"," + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\x00" + b";"


def _lottie(name: str) -> bytes:
    return json.dumps(
        {"v": "5.5.7", "fr": 30, "ip": 0, "op": 30, "w": 320, "h": 320, "nm": name, "layers": []}
    ).encode()


_MAKERS = {"png": _png, "apng": _apng, "gif": _gif, "json": _lottie}
