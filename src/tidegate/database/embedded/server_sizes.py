"""How much memory and disk space the embedded server takes, by the size of its data when it starts.

PostgreSQL's default page cache (``shared_buffers``) is too small for large data: a search over a million messages would
read most pages from the operating system each time, which takes twice as long. For small data a large cache costs
memory for nothing: 27 MB for the tables that manage 1 GiB.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_MIB = 1 << 20
_WAL_FILE = re.compile("[0-9A-F]{24}")
_LEAST, _SMALL, _MOST = 32 * _MIB, 64 * _MIB, 1024 * _MIB


def kept_in_memory(memory: int, data: int) -> int:
    """The bytes of *memory* for the page cache: twice the *data*, at most a quarter of the memory and one gibibyte.

    Data grows until the next start, so small data has 64 MiB.
    """
    return max(_LEAST, min(memory // 4, max(2 * data, _SMALL), _MOST))


def reads_of(data: int, *, version: str) -> dict[str, str]:
    """How files are read. What fits into memory needs no processes that read ahead, and no tables for them."""
    return {"io_method": "sync", "io_max_concurrency": "8"} if int(version) >= 18 and 2 * data <= _SMALL else {}


def size_of(data: Path) -> int:
    """The bytes of all databases in a data folder."""
    return sum(file.stat().st_size for file in (data / "base").glob("*/*"))


def wal_segment(data: Path) -> int:
    """The bytes of each file of the write-ahead log; decided when the data was made, and never changed."""
    return next(file.stat().st_size for file in (data / "pg_wal").iterdir() if _WAL_FILE.fullmatch(file.name))


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
