"""The parts that the records of all stand-in platforms share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(slots=True)
class RecordEntry:
    """When something arrived, and from which account; empty while the platform does not know the account."""

    at: datetime
    account: str


@dataclass(slots=True)
class Upload(RecordEntry):
    """One file that a client uploaded completely."""

    name: str
    bytes: int
    sha256: str


@dataclass(slots=True)
class Connected:
    """One connection; two of one account at a time are two owners, or a hand-over."""

    number: int
    opened_at: datetime
    account: str = ""
    closed_at: datetime | None = None


@dataclass(slots=True)
class RecordedCall(RecordEntry):
    """One call as it arrived."""

    method: str


Id = TypeVar("Id", int, str)
Key = TypeVar("Key", int, str)


@dataclass(slots=True)
class AcceptedMessage(RecordEntry, Generic[Id, Key]):
    """One message accepted from a client; *key* is the client's own, *part* the name or kind of its file."""

    target: Id
    key: Key
    message: Id
    part: str


C = TypeVar("C", bound=RecordedCall)
S = TypeVar("S")
N = TypeVar("N", bound=Connected)


@dataclass(slots=True)
class PlatformRecord(Generic[C, S, N]):
    """Every call and message a platform received, in order; tests compare it with our own records."""

    calls: list[C] = field(default_factory=list)
    sends: list[S] = field(default_factory=list)
    uploads: list[Upload] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    sessions: list[N] = field(default_factory=list)
    pieces: Counter[tuple[str, int]] = field(default_factory=Counter)  # of files, by file and offset, as often as sent

    def by_method(self, account: str = "") -> Counter[str]:
        return Counter(call.method for call in self.calls if account in ("", call.account))


def as_json(platform: str, entries: Sequence[DataclassInstance]) -> list[dict[str, Any]]:
    """Entries of a record as the control address shows them."""
    return [{"platform": platform} | {name: _shown(value) for name, value in asdict(one).items()} for one in entries]


def _shown(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value
