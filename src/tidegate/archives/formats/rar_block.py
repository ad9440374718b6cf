"""One block of a RAR, as the headers of both versions of the format describe it."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.archives.formats.archive_bytes import ArchiveEntry


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a RAR: the file it is about, or None.

    *begun_before*: the file's bytes began in an earlier volume. *followed*: by this block, another volume comes.
    """

    entry: ArchiveEntry | None = None
    begun_before: bool = False
    followed: bool = False
