"""The child process that reads archive headers, which cannot be trusted: with little memory, little time and no files.

It reports when it is ready for its first archive. It can read one only through its parent: it writes
``{"read": [offset, length]}`` and gets the bytes. At the end it writes the list, and waits for the next archive.
Messages go through pipes in the frames of ``core.child_protocol``. The child has no other way to affect Tidegate.

Invariant: nothing-blocks-the-loop.
"""

from __future__ import annotations

import codecs
import lzma
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tidegate.archives.formats.archive_bytes import (
    ArchiveEntry,
    ArchiveListing,
    CutShort,
    Damaged,
    Encrypted,
    NotUnderstood,
    Source,
    WorkBudget,
)
from tidegate.archives.formats.rar import SIGNATURES as RAR
from tidegate.archives.formats.rar import rar_entries, rar_volume_entries
from tidegate.archives.formats.seven_zip import SIGNATURE as SEVEN_ZIP
from tidegate.archives.formats.seven_zip import seven_zip_entries
from tidegate.archives.formats.tar_headers import GZIP, RECORD, XZ, is_header, tar_entries
from tidegate.archives.formats.zip_directory import zip_entries
from tidegate.core.child_protocol import read_from
from tidegate.core.sandbox.child_limits import bind, tell_parent

LONGEST_PATH = 1_000
BATCH = 200

Reader = Callable[[Source, ArchiveListing], Iterator[ArchiveEntry]]

_NONSENSE = (Damaged, struct.error, IndexError, UnicodeError, OverflowError, ValueError, lzma.LZMAError, zlib.error)
"""The errors that an invalid header raises."""


def main() -> None:
    """Answer jobs from standard input until it ends."""
    for encoding in ("cp437", "utf-16-le", "utf-8"):
        codecs.lookup(encoding)  # loaded from a file, and no file can be opened later
    tell_parent({"ready": True})
    while (asked := read_from(sys.stdin.buffer)) is not None:
        job = asked.head
        bind(job["memory"], job["seconds"])
        listing = ArchiveListing()
        budget = WorkBudget(job["steps"], job["inflated"])
        source = Source(job["size"], _ParentReads(job["fetched"], job["reads"]).fetch, job["parts"], budget=budget)
        entries, flags = list_entries(READERS[job["format"]](source, listing), job["most"], job["names"])
        _answer(entries, {"flags": flags, "volumes": listing.volumes, "followed": listing.followed})


# The readers by kind of archive


def _seven_zip(source: Source, _: ArchiveListing) -> Iterator[ArchiveEntry]:
    return seven_zip_entries(source)


def _tar(source: Source, _: ArchiveListing) -> Iterator[ArchiveEntry]:
    return tar_entries(source)


def _whatever(source: Source, listing: ArchiveListing) -> Iterator[ArchiveEntry]:
    """A file whose name does not say its kind: read by its first bytes, or not at all."""
    start = source.read(0, min(RECORD, source.size))
    if start.startswith(b"PK"):
        yield from zip_entries(source, listing)
    elif start.startswith(SEVEN_ZIP):
        yield from seven_zip_entries(source)
    elif start.startswith(RAR):
        yield from rar_entries(source, listing)
    elif start.startswith((GZIP, XZ)) or is_header(start):
        yield from tar_entries(source)


READERS: dict[str, Reader] = {
    "zip": zip_entries,
    "7z": _seven_zip,
    "rar": rar_entries,
    "rar volumes": rar_volume_entries,
    "tar": _tar,
    "whatever": _whatever,
}


def list_entries(entries: Iterator[ArchiveEntry], most: int, names: int) -> tuple[list[ArchiveEntry], list[str]]:
    """The flags of the archive and its entries: at most *most*, with paths of at most *names* characters in all.

    There are no entries where a part of the list cannot be trusted.
    """
    listed: list[ArchiveEntry] = []
    cut = False
    try:
        for entry in entries:
            path = entry.path[:LONGEST_PATH]
            names -= len(path)
            cut = len(listed) == most or names < 0
            if cut:
                break
            listed.append(replace(entry, path=path))
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


class _ParentReads:
    """Reads an archive's bytes through the parent, with a limit on the number of reads and of bytes."""

    def __init__(self, fetched: int, reads: int) -> None:
        self._bytes_left = fetched
        self._reads_left = reads

    def fetch(self, offset: int, length: int) -> bytes:
        self._bytes_left -= length
        self._reads_left -= 1
        if min(self._bytes_left, self._reads_left) < 0:
            raise CutShort
        tell_parent({"read": [offset, length]})
        found = read_from(sys.stdin.buffer)
        if found is None:  # the parent is gone
            sys.exit()
        return found.body


def _answer(entries: list[ArchiveEntry], summary: dict[str, Any]) -> None:
    for start in range(0, len(entries), BATCH):
        batch = entries[start : start + BATCH]
        tell_parent({"entries": [[one.path, one.size, one.encrypted] for one in batch]})
    tell_parent(summary)


if __name__ == "__main__":
    main()
