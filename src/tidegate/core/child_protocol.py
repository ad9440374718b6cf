"""Messages between two processes: a head in JSON, and perhaps bytes that go with it.

Every process that talks to a child of ours, or to a stand-in platform, frames its messages this way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:  # a child that reads with ``read_from`` starts faster without it
    from asyncio import StreamReader

_SIZES = Struct("!II")

LONGEST_HEAD = 64 << 20
"""Bytes. The first letters of HTTP and other protocols, read as a length, are far above this."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One complete message."""

    head: Mapping[str, Any]
    body: bytes = b""


def pack(head: Mapping[str, Any], body: bytes = b"") -> bytes:
    """A message as it travels: both lengths, the head, the body."""
    written = json.dumps(head, separators=(",", ":")).encode()
    return _SIZES.pack(len(written), len(body)) + written + body


async def read(reader: StreamReader, *, longest: int | None = None) -> Frame | None:
    """The next message; None when the peer is gone, perhaps in the middle of one, or speaks another protocol.

    *longest* is how many bytes a peer that is not trusted may send at a time. A longer message is not read.
    """
    try:
        head, body = _SIZES.unpack(await reader.readexactly(_SIZES.size))
        if head > LONGEST_HEAD or (longest is not None and head + body > longest):
            return None
        return _frame(await reader.readexactly(head), await reader.readexactly(body))
    except (EOFError, OSError):  # asyncio's IncompleteReadError is an EOFError
        return None


def read_from(file: BinaryIO) -> Frame | None:
    """The same for blocking code."""
    try:
        sizes = file.read(_SIZES.size)
        if len(sizes) < _SIZES.size:
            return None
        head, body = _SIZES.unpack(sizes)
        if head > LONGEST_HEAD:
            return None
        written, rest = file.read(head), file.read(body)
    except OSError:
        return None
    return _frame(written, rest) if len(written) == head and len(rest) == body else None


def _frame(head: bytes, body: bytes) -> Frame | None:
    try:
        said = json.loads(head)
    except ValueError:
        return None
    return Frame(said, body) if isinstance(said, dict) else None
