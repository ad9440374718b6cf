"""The child that reads archive headers, which strangers made: with little memory, little time and no files (law 13).

It has no way to the archive but its parent: it writes ``{"read": [offset, length]}`` and gets four bytes of length and
the bytes. At the end it writes the list, and that is all it can do to the house.
"""

from __future__ import annotations

import codecs
import json
import lzma
import resource
import struct
import sys
from collections.abc import Callable, Iterator
from typing import Any

from tidegate.mirror.archive_bytes import Damaged, Encrypted, Entry, Source
from tidegate.mirror.zip_directory import zip_entries, zip_volumes

LONGEST_PATH = 1_000
BATCH = 500

_READERS: dict[str, Callable[[Source], Iterator[Entry]]] = {"zip": zip_entries}
_NONSENSE = (Damaged, struct.error, IndexError, UnicodeError, OverflowError, ValueError, lzma.LZMAError)
"""What reading a header that makes no sense ends in."""


def main() -> None:
    """Read one job from standard input and answer it."""
    job = json.loads(sys.stdin.buffer.readline())
    for encoding in ("cp437", "utf-16-le", "utf-8"):
        codecs.lookup(encoding)  # loaded from a file, and from here on there are none
    resource.setrlimit(resource.RLIMIT_AS, (job["memory"], job["memory"]))
    resource.setrlimit(resource.RLIMIT_CPU, (job["seconds"], job["seconds"]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    source = Source(job["size"], _ask)
    entries, flags = list_entries(_READERS[job["format"]](source), job["most"])
    _answer(entries, flags, volumes_of(source))


def list_entries(entries: Iterator[Entry], most: int) -> tuple[list[Entry], list[str]]:
    """At most so many entries and the flags of the archive; none at all where a part of the list cannot be believed."""
    listed: list[Entry] = []
    flags: set[str] = set()
    try:
        for entry in entries:
            if len(listed) == most:
                flags.add("contents_cut")
                break
            listed.append(entry)
            flags |= {"encrypted"} if entry.encrypted else set()
    except Encrypted:
        return [], ["encrypted"]
    except _NONSENSE:
        return [], ["damaged"]
    return listed, sorted(flags)


def volumes_of(source: Source) -> int | None:
    """Of how many volumes a zip says it is; None when it does not say."""
    try:
        return zip_volumes(source)
    except _NONSENSE:
        return None


def _answer(entries: list[Entry], flags: list[str], volumes: int | None) -> None:
    for start in range(0, len(entries), BATCH):
        batch = entries[start : start + BATCH]
        _write({"entries": [[one.path[:LONGEST_PATH], one.size, one.encrypted] for one in batch]})
    _write({"flags": flags, "volumes": volumes})


def _ask(offset: int, length: int) -> bytes:
    _write({"read": [offset, length]})
    [coming] = struct.unpack(">I", sys.stdin.buffer.read(4))
    return sys.stdin.buffer.read(coming)


def _write(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
