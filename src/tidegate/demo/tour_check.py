"""A promise of the tour: the measured figure and its limit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise with its measured figure and its limit."""

    promise: str
    figure: float
    limit: str
    held: bool

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def at_most(promise: str, figure: float, limit: float, unit: str, *, only_if: bool = True) -> Promise:
    """A promise that holds up to *limit*, if *only_if* holds as well."""
    return Promise(promise, round(figure, 3), f"at most {limit:g} {unit}".rstrip(), figure <= limit and only_if)
