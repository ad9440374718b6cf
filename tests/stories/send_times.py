"""How close together sends were."""

from __future__ import annotations

from collections.abc import Sequence


def most_in_any(span: float, instants: Sequence[float]) -> int:
    """The most instants in any half-open stretch of *span* seconds."""
    most = first = 0
    for last, instant in enumerate(instants):
        while instants[first] <= instant - span:
            first += 1
        most = max(most, last - first + 1)
    return most
