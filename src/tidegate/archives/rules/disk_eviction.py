"""Which half-done sets are deleted from a full disk."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.core.ids import ArchiveId


def fewest_to_free(held: Mapping[ArchiveId, int], lacking: int) -> list[ArchiveId]:
    """Which of the sets to delete so that *lacking* bytes are free; none where all of them together do not suffice.

    It is the smallest that suffices alone, or else the largest ones.
    """
    alone = [archive for archive, size in held.items() if size >= lacking]
    if alone:
        return [min(alone, key=lambda archive: (held[archive], archive))]
    going: list[ArchiveId] = []
    for archive in sorted(held, key=lambda archive: (-held[archive], archive)):
        going.append(archive)
        lacking -= held[archive]
        if lacking <= 0:
            return going
    return []
