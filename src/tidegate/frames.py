"""What two processes say to each other: a head in JSON, and perhaps bytes that go with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from struct import Struct
from typing import Any, BinaryIO

_SIZES = Struct("!II")


@dataclass(frozen=True, slots=True)
class Frame:
    """One message, whole."""

    head: Mapping[str, Any]
    body: bytes = b""


def pack(head: Mapping[str, Any], body: bytes = b"") -> bytes:
    """A message as it travels: both lengths, the head, the body."""
    written = json.dumps(head, separators=(",", ":")).encode()
    return _SIZES.pack(len(written), len(body)) + written + body


async def read(reader: asyncio.StreamReader) -> Frame | None:
    """The next message; None when the other side is gone, perhaps in the middle of one."""
    try:
        head, body = _SIZES.unpack(await reader.readexactly(_SIZES.size))
        return Frame(json.loads(await reader.readexactly(head)), await reader.readexactly(body))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def read_from(file: BinaryIO) -> Frame | None:
    """The same, for a thread that may wait."""
    try:
        sizes = file.read(_SIZES.size)
        if len(sizes) < _SIZES.size:
            return None
        head, body = _SIZES.unpack(sizes)
        written, rest = file.read(head), file.read(body)
    except OSError:
        return None
    return Frame(json.loads(written), rest) if len(written) == head and len(rest) == body else None
