"""The disk of this machine that holds the data folder."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tidegate.core.rules.readable_values import readable_size
from tidegate.problems.problem import Problem, ProblemKind

NEARLY_FULL = 0.05
"""A disk with less than this share free is nearly full, however large it is."""


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """The bytes of a disk."""

    path: Path
    free: int  # for us; what the system reserves for itself is not counted
    total: int

    @property
    def words(self) -> str:
        return f"{readable_size(self.free)} free of {readable_size(self.total)}"

    def problems(self, reserve: int) -> list[Problem]:
        """Whether it is nearly full: less than *reserve* is free, or a twentieth of it."""
        if self.free >= max(reserve, NEARLY_FULL * self.total):
            return []
        what = f"The disk of {self.path} is nearly full: {self.words}."
        return [Problem(ProblemKind.DISK_NEARLY_FULL, what, "Make room on this machine's disk.")]


def disk_space(folder: Path) -> DiskSpace:
    """The disk of a folder, or of the nearest folder above it that exists."""
    there = next(one for one in (folder, *folder.parents) if one.exists())
    usage = shutil.disk_usage(there)
    return DiskSpace(there, usage.free, usage.total)
