"""A file inside an archive, as its list of contents names it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ContainedFile:
    """One file inside an archive, under a path that is safe to show and stays inside any folder."""

    path: str
    size: int
    encrypted: bool
