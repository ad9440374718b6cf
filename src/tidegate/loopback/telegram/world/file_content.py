"""The content of a file: given bytes, and for the rest bytes computed from their offset.

So a file of 2 GiB costs no memory and still has the same bytes each time it is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256, shake_256

from telethon.tl.types import Document

HOME, AWAY, NETWORK = 2, 4, 203
"""The data centre accounts live in, which is also where Telethon goes first, another that has some of the files, and
one of the delivery network."""

_BLOCK = 4096
_CHUNK = 1 << 20


class FileKind(StrEnum):
    """How a client shows the file; a search for documents finds only those shown as documents."""

    DOCUMENT = "document"
    PHOTO = "photo"
    VIDEO = "video"
    AUDIO = "audio"
    VOICE = "voice"
    ROUND = "round"
    ANIMATION = "animation"
    STICKER = "sticker"


class Delivery(StrEnum):
    """How the delivery network answers for a file that is read over it."""

    READY = "ready"  # it has the file
    ABSENT = "absent"  # it wants the file to be uploaded first
    FALSE = "false"  # it gives other bytes


@dataclass(slots=True)
class File:
    """A file on the platform; of a photo this is the largest size, "y"."""

    id: int
    name: str
    size: int
    kind: FileKind = FileKind.DOCUMENT
    mime: str = "application/octet-stream"
    pieces: dict[int, bytes] = field(default_factory=dict)  # given bytes by their offset; others are computed
    centre: int = HOME
    home: int = 0  # the channel it was first posted in
    registered: bool = False  # uploaded to be posted repeatedly, so no channel it is in protects it
    generation: int = 0  # of its references: each step makes the earlier ones expire
    smaller: dict[str, bytes] = field(default_factory=dict)  # other sizes of a photo, by the platform's letter
    previews: dict[str, int] = field(default_factory=dict)  # how many bytes further sizes have; these are computed
    document: Document | None = None  # for what can be asked for by its id alone
    delivery: Delivery | None = None

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

    def read_size(self, letter: str, offset: int, limit: int) -> bytes:
        """The same of another size; the file itself where there is none of this letter."""
        if letter in self.smaller:
            return self.smaller[letter][offset : offset + limit]
        whole = self.kind is FileKind.PHOTO and self.previews.get(letter) == self.size
        if whole or letter not in self.previews:
            return self.read(offset, limit)
        end = min(offset + limit, self.previews[letter])
        return _computed(self.id + ord(letter[:1] or "y"), offset, end) if offset < end else b""

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
