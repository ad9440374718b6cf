"""What a platform sent about a message: JSON, compressed with a dictionary that all messages share.

PostgreSQL compresses only rows above two kilobytes, and most messages are smaller. A packed value begins with the
number of its dictionary. A dictionary that was used is never changed: a better one gets the next number.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

_DICTIONARIES = {1: (files("tidegate.history") / "dictionaries" / "1.txt").read_bytes()}
"""JSON as platforms send it, what is most common last; each file is part of the program and never changes."""

_NEWEST = max(_DICTIONARIES)
_PLAIN, _LONGEST_PLAIN = 0, 100
"""JSON up to so many bytes is stored as it is, after this mark: compressing it would take ten times as long."""

_UNREADABLE = (LookupError, ValueError, zlib.error)

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False)  # it was a JSON document

_PRIMED = zlib.compressobj(6, zlib.DEFLATED, -14, 5, zlib.Z_DEFAULT_STRATEGY, _DICTIONARIES[_NEWEST])
"""A compressor that has read the dictionary. To copy it is faster than to make a new one."""


def pack(value: Mapping[str, Any]) -> bytes | None:
    """What is stored; equal values are packed equally. None for nothing."""
    if not value:
        return None
    text = _ENCODER.encode(value).encode()
    if len(text) <= _LONGEST_PLAIN:
        return bytes([_PLAIN]) + text
    packing = _PRIMED.copy()
    return bytes([_NEWEST]) + packing.compress(text) + packing.flush()


def unpack(packed: bytes | None) -> dict[str, Any]:
    """The value that was packed; an empty one for None, and for what this version cannot read."""
    try:
        return _unpacked(packed)
    except _UNREADABLE:
        return {}


def is_readable(packed: bytes | None) -> bool:
    """Whether this version can read a packed value: a later one may have used another dictionary."""
    try:
        _unpacked(packed)
    except _UNREADABLE:
        return False
    return True


def _unpacked(packed: bytes | None) -> dict[str, Any]:
    if packed is None:
        return {}
    text = packed[1:]
    if packed[0] != _PLAIN:
        unpacking = zlib.decompressobj(-zlib.MAX_WBITS, _DICTIONARIES[packed[0]])
        text = unpacking.decompress(text) + unpacking.flush()
    found: dict[str, Any] = json.loads(text)
    return found
