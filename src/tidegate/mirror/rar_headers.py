"""What the headers of both generations of RAR come to."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.mirror.archive_bytes import Entry


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a RAR: the file it is about, or None.

    *begun_before*: the file's bytes began in an earlier volume. *followed*: by this block, another volume comes.
    """

    entry: Entry | None = None
    begun_before: bool = False
    followed: bool = False
