"""tar archives, and headers made by hand."""

from __future__ import annotations

import io
import random
import tarfile


def tarred(inside: list[tuple[str, int]], how: int = tarfile.PAX_FORMAT) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=how) as archive:
        folder = tarfile.TarInfo("dragon")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, size in inside:
            file = tarfile.TarInfo(name)
            file.size = size
            archive.addfile(file, io.BytesIO(b"x" * size))
    return held.getvalue()


def noisy(*, files: int, size: int) -> bytes:
    """A tar that no packer makes smaller."""
    dice = random.Random(7)
    made = (header(f"{number}.bin", size) + dice.randbytes(size) + bytes(-size % 512) for number in range(files))
    return b"".join([*made, bytes(1024)])


def header(name: str, size: int, how: int = tarfile.GNU_FORMAT, kind: bytes = tarfile.REGTYPE) -> bytes:
    file = tarfile.TarInfo(name)
    file.size, file.type = size, kind
    return file.tobuf(how)


def checked(record: bytearray) -> bytes:
    record[148:156] = b" " * 8
    record[148:156] = b"%06o\x00 " % sum(record)
    return bytes(record)
