"""The list of contents of a RAR, block by block; what is packed is skipped.

A RAR has no list at its end: each file's header stands in front of its bytes, in the volume where those begin. The
headers of each generation are taken apart in a module of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.archives.formats.archive_bytes import ArchiveEntry, ArchiveListing, Damaged, Source
from tidegate.archives.formats.rar4_headers import SIGNATURE as SIGNATURE_4
from tidegate.archives.formats.rar4_headers import rar4_blocks
from tidegate.archives.formats.rar5_headers import SIGNATURE as SIGNATURE_5
from tidegate.archives.formats.rar5_headers import rar5_blocks
from tidegate.archives.formats.rar_block import Block

SIGNATURES = (SIGNATURE_4, SIGNATURE_5)


def rar_entries(source: Source, listing: ArchiveListing) -> Iterator[ArchiveEntry]:
    """The files in a RAR that is one file, whatever number of pieces that was cut into; folders are left out."""
    yield from _volume(source, 0, source.size, listing)


def rar_volume_entries(source: Source, listing: ArchiveListing) -> Iterator[ArchiveEntry]:
    """The files in a RAR of which each part is a volume; one that spans several is listed once, where it begins.

    Only the last volume knows that it is the last.
    """
    for start, end in zip(source.starts, [*source.starts[1:], source.size], strict=True):
        yield from _volume(source, start, end, listing)


def _volume(source: Source, start: int, end: int, listing: ArchiveListing) -> Iterator[ArchiveEntry]:
    """The files that begin in a volume. Whether another follows is known once it was read to its end."""
    followed = listing.followed = False
    for block in _blocks(source, start, end):
        followed = block.followed
        if block.entry is not None and not block.begun_before:
            yield block.entry
    listing.followed = followed


def _blocks(source: Source, start: int, end: int) -> Iterator[Block]:
    signature = source.read(start, min(len(SIGNATURE_5), end - start))
    if signature == SIGNATURE_5:
        return rar5_blocks(source, start + len(SIGNATURE_5), end)
    if signature.startswith(SIGNATURE_4):
        return rar4_blocks(source, start + len(SIGNATURE_4), end)
    raise Damaged("it does not begin as a RAR")
