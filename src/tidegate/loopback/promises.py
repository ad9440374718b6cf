"""A promise of the tour: what was found, and what it may be."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise, what was found, and what it may be at most or at least."""

    promise: str
    figure: float
    limit: str
    held: bool

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def at_most(promise: str, figure: float, limit: float, unit: str, *, only_if: bool = True) -> Promise:
    """A promise that holds up to *limit*, and *only_if* what it says besides was so too."""
    return Promise(promise, round(figure, 3), f"at most {limit:g} {unit}".rstrip(), figure <= limit and only_if)
