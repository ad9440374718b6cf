"""The child that reads archive headers, which strangers made: with little memory, little time and no files (law 13).

It has no way to an archive but its parent: it writes ``{"read": [offset, length]}`` and gets four bytes of length and
the bytes. At the end it writes the list, and that is all it can do to the house. Then it waits for the next archive.
"""

from __future__ import annotations

import codecs
import json
import lzma
import math
import resource
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from tidegate.mirror.archive_bytes import CutShort, Damaged, Encrypted, Entry, NotUnderstood, Source, Told
from tidegate.mirror.rar_blocks import SIGNATURES as RAR
from tidegate.mirror.rar_blocks import rar_entries, rar_volume_entries
from tidegate.mirror.seven_zip import SIGNATURE as SEVEN_ZIP
from tidegate.mirror.seven_zip import seven_zip_entries
from tidegate.mirror.tar_headers import GZIP, RECORD, XZ, is_header, tar_entries
from tidegate.mirror.zip_directory import zip_entries, zip_volumes

LONGEST_PATH = 1_000
BATCH = 500

Reader = Callable[[Source, Told], Iterator[Entry]]

_NONSENSE = (Damaged, struct.error, IndexError, UnicodeError, OverflowError, ValueError, lzma.LZMAError, zlib.error)
"""What reading a header that makes no sense ends in."""


def main() -> None:
    """Answer jobs from standard input until there are no more."""
    for encoding in ("cp437", "utf-16-le", "utf-8"):
        codecs.lookup(encoding)  # loaded from a file, and from here on there are none
    for line in iter(sys.stdin.buffer.readline, b""):
        job = json.loads(line)
        _bind(job)
        told = Told()
        source = Source(job["size"], _Road(job["fetched"], job["reads"]).fetch, job["parts"])
        entries, flags = list_entries(READERS[job["format"]](source, told), job["most"])
        _answer(entries, {"flags": flags, "volumes": told.volumes, "followed": told.followed})


def _bind(job: dict[str, Any]) -> None:
    """Set what the child may take: memory as long as it lives, time for this job."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = math.ceil(used.ru_utime + used.ru_stime) + job["seconds"]
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    resource.setrlimit(resource.RLIMIT_AS, (job["memory"], job["memory"]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))


# What is read how


def _zip(source: Source, told: Told) -> Iterator[Entry]:
    told.volumes = zip_volumes(source)
    yield from zip_entries(source)


def _seven_zip(source: Source, _: Told) -> Iterator[Entry]:
    return seven_zip_entries(source)


def _tar(source: Source, _: Told) -> Iterator[Entry]:
    return tar_entries(source)


def _whatever(source: Source, told: Told) -> Iterator[Entry]:
    """A file whose name says nothing of its kind: read as what it begins like, or not at all."""
    start = source.read(0, min(RECORD, source.size))
    if start.startswith(b"PK"):
        yield from _zip(source, told)
    elif start.startswith(SEVEN_ZIP):
        yield from seven_zip_entries(source)
    elif start.startswith(RAR):
        yield from rar_entries(source, told)
    elif start.startswith((GZIP, XZ)) or is_header(start):
        yield from tar_entries(source)


READERS: dict[str, Reader] = {
    "zip": _zip,
    "7z": _seven_zip,
    "rar": rar_entries,
    "rar volumes": rar_volume_entries,
    "tar": _tar,
    "whatever": _whatever,
}


def list_entries(entries: Iterator[Entry], most: int) -> tuple[list[Entry], list[str]]:
    """At most so many entries and the flags of the archive; none at all where a part of the list cannot be believed."""
    listed: list[Entry] = []
    cut = False
    try:
        for entry in entries:
            cut = len(listed) == most
            if cut:
                break
            listed.append(entry)
    except CutShort:
        cut = True
    except Encrypted:
        return [], ["encrypted"]
    except NotUnderstood:
        return [], ["not_listed"]
    except _NONSENSE:
        return [], ["damaged"]
    flags = {"contents_cut": cut, "encrypted": any(entry.encrypted for entry in listed)}
    return listed, [flag for flag, holds in flags.items() if holds]


class _Road:
    """The way to an archive's bytes: through the parent, so often and for so many bytes."""

    def __init__(self, fetched: int, reads: int) -> None:
        self._bytes_left = fetched
        self._reads_left = reads

    def fetch(self, offset: int, length: int) -> bytes:
        self._bytes_left -= length
        self._reads_left -= 1
        if min(self._bytes_left, self._reads_left) < 0:
            raise CutShort
        _write({"read": [offset, length]})
        [coming] = struct.unpack(">I", sys.stdin.buffer.read(4))
        return sys.stdin.buffer.read(coming)


def _answer(entries: list[Entry], told: dict[str, Any]) -> None:
    for start in range(0, len(entries), BATCH):
        batch = entries[start : start + BATCH]
        _write({"entries": [[one.path[:LONGEST_PATH], one.size, one.encrypted] for one in batch]})
    _write(told)


def _write(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
