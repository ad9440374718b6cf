"""What each platform takes of a message: how many characters, and how large a file in which group (seed 002).

Known before anything is sent, so that a thousand groups do not each refuse the same thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from tidegate.words import Platform

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Takes:
    """The longest text and caption, in characters, and the largest file, in bytes; None where nothing is published.

    A file of that size is taken in every group; some take larger ones.
    """

    text: int | None = None
    caption: int | None = None
    file: int | None = None


TAKES = {
    Platform.TELEGRAM: Takes(text=4_096, caption=1_024),
    Platform.DISCORD: Takes(text=2_000, caption=2_000, file=10 * MIB),
    Platform.WHATSAPP: Takes(),
}


def too_long(platform: Platform, text: str, *, caption: bool) -> str:
    """Why a text, or a caption, is more than a message takes; empty where it is not."""
    most = TAKES[platform].caption if caption else TAKES[platform].text
    if most is None or len(text) <= most:
        return ""
    kind = "caption" if caption else "text"
    return f"the {kind} has {len(text)} characters, and {platform.brand} takes {most}"


def too_large(platform: Platform, size: int, *, largest: int | None, where: str) -> str:
    """Why a file is more than a group takes; empty where it is not.

    *largest* is what the platform told of that group, which *where* names; without it, what it takes everywhere counts.
    """
    most = largest or TAKES[platform].file
    if most is None or size <= most:
        return ""
    return f"the file has {ceil(10 * size / MIB) / 10:.1f} MiB, and {where} takes {most // MIB} MiB"
