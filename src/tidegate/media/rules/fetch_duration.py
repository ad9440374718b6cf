"""How long fetching files takes."""

from __future__ import annotations

MEBIBYTE = 1 << 20


def hours_for(files: int, size: int, reads_per_second: float) -> float:
    """How long fetching takes at an account's pace: a call for each file, and one for each further MiB."""
    return (files + size / MEBIBYTE) / max(reads_per_second, 0.001) / 3_600
