"""The limits for one thumbnail."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ThumbnailLimits:
    """Limits for one picture."""

    bytes: int = 32 * 1024 * 1024  # of its file
    pixels: int = 50_000_000
    memory: int = 640 * 1024 * 1024  # of the child, in bytes
    seconds: int = 10  # of processor time
    edge: int = 480  # the longer side of the thumbnail
    drawn: int = 1024 * 1024  # bytes of the thumbnail


LIMITS = ThumbnailLimits()
