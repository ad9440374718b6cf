"""Where the bytes of files are kept, by their SHA-256: the promises that every store gives."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from tidegate.core.errors import MachineTrouble
from tidegate.core.ids import Sha256

CHUNK = 1 << 20
"""How many bytes are read and written at a time."""


class StoreTrouble(MachineTrouble):
    """The store cannot be read or written now; no file is at fault."""


class BytesMissing(StoreTrouble):
    """The store has no bytes under this digest."""


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """One entry of a store, and when it was last put there."""

    sha256: Sha256
    size: int
    put_at: datetime


class MediaStore(Protocol):
    """Bytes by their digest. Every failure is ``StoreTrouble`` with a sentence.

    A store holds nothing under a digest, or all of it: a put that is cut off leaves nothing that can be read.
    """

    @property
    def name(self) -> str:
        """Which store it is, for people; without secrets."""

    def free(self) -> int | None:
        """The free bytes of its disk; None where no disk of this machine bounds it. Blocks for a moment."""

    async def put(self, path: Path, sha256: Sha256) -> None:
        """Store the finished file at *path*, whose digest the caller has computed; the file may be moved away.

        Putting the same bytes again changes nothing but the time of the entry.
        """

    def read(self, sha256: Sha256, *, offset: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """The bytes from *offset* on, at most *length*, in pieces; ``BytesMissing`` where there are none."""

    async def size(self, sha256: Sha256) -> int | None:
        """How many bytes are stored; None where there are none."""

    async def delete(self, sha256: Sha256) -> None:
        """Delete the bytes; deleting what is not there is no error."""

    def entries(self) -> AsyncIterator[StoredBytes]:
        """Everything in the store, in no order."""


def key_of(sha256: Sha256) -> str:
    """The path of an entry inside its store: 65,536 folders, so that none grows large."""
    name = sha256.hex()
    return f"{name[:2]}/{name[2:4]}/{name}"


def digest_in(key: str) -> Sha256 | None:
    """The digest that a path inside a store names; None for a foreign file."""
    name = key.rpartition("/")[2]
    if len(name) != 64 or not set(name) <= set("0123456789abcdef") or key_of(Sha256(bytes.fromhex(name))) != key:
        return None
    return Sha256(bytes.fromhex(name))
