"""Sizes of files as operators write them: ``700MB``, ``4GiB``, ``1.5 TB``, or a plain number of bytes."""

from __future__ import annotations

import re

_UNITS: dict[str, int] = {"": 1, "b": 1} | {
    f"{prefix}{ending}": base**power
    for power, prefix in enumerate("kmgt", start=1)
    for ending, base in (("b", 1000), ("ib", 1024))
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


def parse_size(written: object) -> int | None:
    """Read a size in bytes; None stays None. Raises ``ValueError`` for anything else."""
    if written is None or (isinstance(written, int) and not isinstance(written, bool)):
        return written
    found = _SIZE.fullmatch(written.strip().lower()) if isinstance(written, str) else None
    if found is None or found[2] not in _UNITS:
        raise ValueError("not a size")
    return round(float(found[1]) * _UNITS[found[2]])
