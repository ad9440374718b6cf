"""What the readers of archive headers share: bytes by their place, and why an archive cannot be listed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

BLOCK = 64 * 1024
"""Bytes are asked for in aligned blocks of this size: small enough to fetch little, large enough to ask seldom."""


class Damaged(Exception):
    """The archive contradicts itself, or ends before it should: nothing it says of its contents is believed."""


class Encrypted(Exception):
    """The list of contents itself is behind a password."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file inside an archive, as the archive names it: a stranger's word."""

    path: str
    size: int
    encrypted: bool = False


class Source:
    """An archive's bytes, read where they are needed; the block read last is kept."""

    def __init__(self, size: int, fetch: Callable[[int, int], bytes]) -> None:
        self.size = size
        self._fetch = fetch
        self._at = -1
        self._block = b""

    def read(self, offset: int, length: int) -> bytes:
        """Exactly so many bytes; ``Damaged`` when the archive does not have them."""
        if offset < 0 or length < 0 or offset + length > self.size:
            raise Damaged(f"{length} bytes at {offset} lie outside the archive")
        found = bytearray()
        while len(found) < length:
            at, skip = divmod(offset + len(found), BLOCK)
            piece = self._load(at)[skip : skip + length - len(found)]
            if not piece:
                raise Damaged("the archive is shorter than announced")
            found += piece
        return bytes(found)

    def _load(self, at: int) -> bytes:
        if at != self._at:
            start = at * BLOCK
            self._block = self._fetch(start, min(BLOCK, self.size - start))
            self._at = at
        return self._block
