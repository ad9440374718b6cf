"""What is in a file: bytes that were given, and for the rest bytes computed from where they lie.

So a file of 2 GiB costs no memory and still has the same bytes each time it is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256, shake_256

HOME, AWAY = 2, 4
"""The data centre accounts live in, which is also where Telethon goes first, and another that has some of the files."""

_BLOCK = 4096
_CHUNK = 1 << 20


class FileKind(StrEnum):
    """How a client shows the file; a search for documents finds only those shown as documents."""

    DOCUMENT = "document"
    PHOTO = "photo"
    VIDEO = "video"
    AUDIO = "audio"


@dataclass(slots=True)
class File:
    """A file on the platform. *pieces* are given bytes by their offset; all others are computed.

    *smaller* are other sizes of a photo, by the platform's letter for them; the file itself is the largest, "y".
    """

    id: int
    name: str
    size: int
    kind: FileKind = FileKind.DOCUMENT
    mime: str = "application/octet-stream"
    pieces: dict[int, bytes] = field(default_factory=dict)
    centre: int = HOME
    home: int = 0  # the channel it was first posted in
    registered: bool = False  # uploaded to be posted again and again, so no channel it is in protects it
    generation: int = 0  # of its references: each step makes the earlier ones expire
    smaller: dict[str, bytes] = field(default_factory=dict)

    def read(self, offset: int, limit: int) -> bytes:
        """The bytes from *offset*, at most *limit*, none beyond the end."""
        end = min(offset + limit, self.size)
        if offset >= end:
            return b""
        if self.pieces.get(0) is not None and len(self.pieces[0]) == self.size:
            return self.pieces[0][offset:end]
        data = bytearray(_computed(self.id, offset, end))
        for start, piece in self.pieces.items():
            low, high = max(start, offset), min(start + len(piece), end)
            if low < high:
                data[low - offset : high - offset] = piece[low - start : high - start]
        return bytes(data)

    def sha256(self) -> str:
        digest = sha256()
        for offset in range(0, self.size, _CHUNK):
            digest.update(self.read(offset, _CHUNK))
        return digest.hexdigest()


def _computed(number: int, offset: int, end: int) -> bytes:
    first = offset // _BLOCK
    pattern = _pattern(number)
    blocks = b"".join(index.to_bytes(8, "little") + pattern for index in range(first, (end + _BLOCK - 1) // _BLOCK))
    return blocks[offset - first * _BLOCK : end - first * _BLOCK]


@lru_cache(maxsize=256)
def _pattern(number: int) -> bytes:
    return shake_256(str(number).encode()).digest(_BLOCK - 8)
