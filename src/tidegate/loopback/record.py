"""What every platform's own record holds alike; it can contradict ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, slots=True)
class Upload:
    """One file that a client handed over whole."""

    at: datetime
    account: str
    name: str
    bytes: int
    sha256: str


def as_json(platform: str, entries: Sequence[DataclassInstance]) -> list[dict[str, Any]]:
    """Entries of a record as the control address shows them."""
    return [{"platform": platform} | {name: _shown(value) for name, value in asdict(one).items()} for one in entries]


def _shown(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value
