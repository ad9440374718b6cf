"""One row a comparison: what was measured, both figures, and which of the two is better."""

from __future__ import annotations

from typing import Any

EQUAL_WITHIN = 1.5


def compared(
    what: str, tidegate: float, peer: float, peer_name: str, unit: str, *, less_is_better: bool = True
) -> dict[str, Any]:
    """A row with both figures; they are equal within 1.5 times."""
    return {
        "what": what,
        "tidegate": tidegate,
        "peer": peer,
        "peer_name": peer_name,
        "unit": unit,
        "better": _better(tidegate, peer, less_is_better=less_is_better),
    }


def skipped(what: str, peer_name: str, reason: str) -> dict[str, Any]:
    """A row without figures, and a sentence why."""
    figures = dict.fromkeys(("tidegate", "peer", "unit", "better"))
    return {"what": what, "peer_name": peer_name, **figures, "skipped": reason}


def _better(tidegate: float, peer: float, *, less_is_better: bool) -> str:
    if max(tidegate, peer) <= EQUAL_WITHIN * min(tidegate, peer):
        return "equal"
    return "tidegate" if (tidegate < peer) == less_is_better else "peer"
