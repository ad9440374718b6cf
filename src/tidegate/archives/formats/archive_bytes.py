"""Shared by the readers of archive headers: access to bytes by offset, and why an archive cannot be listed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

BLOCK = 64 * 1024
"""Bytes are asked for in aligned blocks of this size: small enough to fetch little, large enough to ask seldom."""

LARGEST_RUN = 512 * 1024
"""The most bytes that are asked for at once where all of them are wanted."""

BYTES_A_STEP = 64
"""How many bytes that are examined one by one count as much work as one record."""

NUMBERS_A_STEP = 8
"""Likewise the numbers of a list."""


class Damaged(Exception):
    """The archive contradicts itself, or ends too early: nothing in its list of contents can be trusted."""


class Encrypted(Exception):
    """The list of contents itself is behind a password."""


class NotUnderstood(Exception):
    """The list is packed in a way that is not read here."""


class CutShort(Exception):
    """More of the archive would have to be read than is allowed: what was read so far is the list."""


class WorkBudget:
    """How much work one archive's headers may cause, counted in steps: a header, a record in it, a packed stream.

    The number of steps depends on the archive alone, so the same archive is cut at the same place on every machine.
    """

    def __init__(self, steps: int, inflated: int) -> None:
        self.steps_left = steps
        self.inflated_left = inflated

    def spend(self, steps: int = 1) -> None:
        """Count *steps* before they are made; ``CutShort`` when fewer are left."""
        self.steps_left -= steps
        if self.steps_left < 0:
            raise CutShort

    def spend_bytes(self, length: int) -> None:
        """Count *length* bytes that are looked at one by one."""
        self.spend(1 + length // BYTES_A_STEP)

    def spend_list(self, count: int) -> None:
        """Count the small numbers of a list, of which several make up the work of a record."""
        self.spend(count // NUMBERS_A_STEP)

    def spend_inflated(self, length: int) -> None:
        """Count bytes that came out of a packed stream."""
        self.inflated_left -= length
        if self.inflated_left < 0:
            raise CutShort


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """One file inside an archive."""

    path: str  # as the archive gives it, so untrusted
    size: int
    encrypted: bool = False


@dataclass(slots=True)
class ArchiveListing:
    """What an archive says about itself: of how many *volumes* it is, or that its last one is *followed* by another."""

    volumes: int | None = None
    followed: bool = False


class HeaderFields:
    """A header in memory, read field by field from its front to its end."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.at = 0

    @property
    def ended(self) -> bool:
        return self.at >= len(self._content)

    def take(self, length: int) -> bytes:
        """The next *length* bytes."""
        taken = self._content[self.at : self.at + length]
        if len(taken) != length:
            raise Damaged("a header breaks off")
        self.at += length
        return taken

    def rest(self) -> bytes:
        return self.take(len(self._content) - self.at)


class Source:
    """An archive's bytes, read where they are needed; the block read last is kept.

    *parts* are the sizes of its files, in order: blocks never reach over the end of one. Reading headers from it counts
    on its *budget*.
    """

    def __init__(
        self, size: int, fetch: Callable[[int, int], bytes], parts: Sequence[int] = (), *, budget: WorkBudget
    ) -> None:
        self.size = size
        self.budget = budget
        self.starts = [0, *accumulate(parts[:-1])]
        self._fetch = fetch
        self._at = 0
        self._block = b""

    def read(self, offset: int, length: int) -> bytes:
        """Exactly *length* bytes; ``Damaged`` when the archive does not have them."""
        if offset < 0 or length < 0 or offset + length > self.size:
            raise Damaged(f"{length} bytes at {offset} lie outside the archive")
        found = bytearray()
        while len(found) < length:
            found += self._block_from(offset + len(found), length - len(found))
        return bytes(found)

    def run(self, offset: int) -> bytes:
        """Some bytes from *offset* on, the more the further it lies inside its part; none at the end.

        For sequential reads: the first ones are short, so that a small archive is not fetched twice.
        """
        start, end = self._part_of(offset)
        inside = offset - start
        length = min(inside & -inside, LARGEST_RUN) if inside else BLOCK
        return self._ask(offset, min(max(length, BLOCK), end - offset)) if offset < self.size else b""

    def _block_from(self, offset: int, length: int) -> bytes:
        """Bytes from *offset* to the end of their block, at most *length*."""
        if not self._at <= offset < self._at + len(self._block):
            start, end = self._part_of(offset)
            at = offset - (offset - start) % BLOCK
            self._block = self._ask(at, min(BLOCK, end - at))
            self._at = at
        return self._block[offset - self._at : offset - self._at + length]

    def _part_of(self, offset: int) -> tuple[int, int]:
        """Where the part that holds this byte begins and ends."""
        after = bisect_right(self.starts, offset)
        return self.starts[after - 1], self.starts[after] if after < len(self.starts) else self.size

    def _ask(self, offset: int, length: int) -> bytes:
        content = self._fetch(offset, length)
        if len(content) != length:
            raise Damaged("the archive is shorter than announced")
        return content
