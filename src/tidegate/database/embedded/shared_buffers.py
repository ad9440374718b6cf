"""How much memory the embedded server uses for its page cache (``shared_buffers``).

PostgreSQL's default is too small: a search over a million messages would read most pages from the operating system each
time. That takes twice as long. Memory is taken only when it is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_MIB = 1 << 20
_LEAST, _MOST = 32 * _MIB, 1024 * _MIB


def kept_in_memory(memory: int) -> int:
    """The bytes of *memory* for the page cache: a quarter, as is usual, and at most one gibibyte."""
    return min(max(memory // 4, _LEAST), _MOST)


def memory_here(groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int:
    """The bytes this process and what it starts may use: the machine's, or what its container or service is given."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([machine, *_limits(groups, root)])


def _limits(groups: Path, root: Path) -> Iterator[int]:
    """The memory limits of this process's control group and its parents, for cgroups v1 and v2.

    A container may see its own group as the root, so the root is read too. Where there is no limit, the file has a
    word, or a number above all memory.
    """
    try:
        lines = groups.read_text().splitlines()
    except OSError:
        return  # not Linux, or without control groups
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds == "":
            yield from _read(root, path, "memory.max")
        elif "memory" in kinds.split(","):
            yield from _read(root / "memory", path, "memory.limit_in_bytes")


def _read(root: Path, path: str, name: str) -> Iterator[int]:
    inside = PurePosixPath(path.lstrip("/"))
    for group in (inside, *inside.parents):
        try:
            written = (root / group / name).read_text().strip()
        except OSError:
            continue
        if written.isdecimal():
            yield int(written)
