"""What each platform takes of a message: how many characters, and how large a file in which group (seed 002).

Known before anything is sent, so that a thousand groups do not each refuse the same thing.
"""

from __future__ import annotations

from math import ceil

from tidegate.core.platform import Platform

MIB = 1 << 20


def too_long(platform: Platform, text: str, *, caption: bool) -> str:
    """Why a text, or a caption, is more than a message takes; empty where it is not."""
    most = platform.limits.caption if caption else platform.limits.text
    if most is None or len(text) <= most:
        return ""
    kind = "caption" if caption else "text"
    return f"the {kind} has {len(text)} characters, and {platform.brand} takes {most}"


def too_large(platform: Platform, size: int, *, largest: int | None, where: str) -> str:
    """Why a file is too large for a group; empty where it is not.

    *largest* is the limit of that group, which *where* names. Without it the platform's general limit counts.
    """
    most = largest or platform.limits.file
    if most is None or size <= most:
        return ""
    return f"the file has {ceil(10 * size / MIB) / 10:.1f} MiB, and {where} takes {most // MIB} MiB"
