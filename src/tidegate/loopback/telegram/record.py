"""The platform's own record of what it was asked and given; it can contradict ours."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from tidegate.loopback.record import Upload


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it arrived; the account is its phone number, empty before a sign-in."""

    at: datetime
    account: str
    method: str
    session: int = 0


@dataclass(slots=True)
class Session:
    """One connection, from its first sealed packet on; two of one account at a time are two owners, or a hand-over."""

    number: int
    centre: int
    opened_at: datetime
    account: str = ""
    closed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """One message accepted from a client; *key* is its random id."""

    at: datetime
    account: str
    target: int
    topic: int
    key: int
    message: int
    part: str


@dataclass(slots=True)
class Record:
    """Everything, in the order it came."""

    calls: list[Call] = field(default_factory=list)
    sends: list[Sent] = field(default_factory=list)
    uploads: list[Upload] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)

    def by_method(self, account: str = "") -> Counter[str]:
        return Counter(call.method for call in self.calls if account in ("", call.account))
