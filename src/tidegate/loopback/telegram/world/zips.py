"""Zip files for the world: small real ones, and sparse ones whose directory is real and whose bytes are computed."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Sequence
from random import Random

from tidegate.core.errors import BadInput

_LARGEST = (1 << 32) - 1
_WORDS = ("dragon", "tower", "bridge", "goblin", "lantern", "harbour", "knight", "gear", "bust", "tile")
_DATED = (1980, 1, 1, 0, 0, 0)


def small_zip(dice: Random) -> bytes:
    """A real zip of a few small entries, the same for the same dice."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(dice.randint(1, 4)):
            name = f"{dice.choice(_WORDS)}_{dice.randint(1, 999):03}/{dice.choice(_WORDS)}_{number}.stl"
            archive.writestr(zipfile.ZipInfo(name, _DATED), dice.randbytes(dice.randint(20, 400)))
    return held.getvalue()


def sparse_zip(entries: Sequence[tuple[str, int]]) -> tuple[int, dict[int, bytes]]:
    """The size of a zip with these stored entries, and those of its bytes that are not the entries' own.

    Entries have no right checksum, so such a file can be listed and not unpacked. Below 4 GiB, without ZIP64.
    """
    pieces: dict[int, bytes] = {}
    directory = b""
    offset = 0
    for name, size in entries:
        packed = name.encode()
        if offset + size > _LARGEST:
            raise BadInput("A sparse zip holds less than 4 GiB.")
        shared = struct.pack("<HHHHHIIIHH", 20, 0x800, 0, 0, 0x21, 0, size, size, len(packed), 0)
        pieces[offset] = b"PK\x03\x04" + shared + packed
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + shared + struct.pack("<HHHII", 0, 0, 0, 0, offset) + packed
        offset += len(pieces[offset]) + size
    end = struct.pack("<HHHHIIH", 0, 0, len(entries), len(entries), len(directory), offset, 0)
    pieces[offset] = directory + b"PK\x05\x06" + end
    return offset + len(pieces[offset]), pieces
