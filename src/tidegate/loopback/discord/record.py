"""The platform's own record of what it was asked and given; it can contradict ours."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from tidegate.loopback.record import Upload


@dataclass(slots=True)
class Call:
    """One call as it arrived; the account is the bot's name, empty when its token is nobody's.

    *status* is what it was answered, 0 when nothing was; *channel* and *query* say which page was asked for.
    """

    at: datetime
    account: str
    method: str
    channel: int = 0
    query: str = ""
    status: int = 0


@dataclass(frozen=True, slots=True)
class Sent:
    """One message accepted from a client; *key* is its nonce, *part* the names of its files."""

    at: datetime
    account: str
    target: int
    key: str
    message: int
    part: str


@dataclass(slots=True)
class Connected:
    """One gateway connection; two of one account at a time are two owners, or a hand-over."""

    number: int
    opened_at: datetime
    account: str = ""
    session: str = ""
    closed_at: datetime | None = None


@dataclass(slots=True)
class Record:
    """Everything, in the order it came. *invalid* are instants of answers that count against whoever asked."""

    calls: list[Call] = field(default_factory=list)
    sends: list[Sent] = field(default_factory=list)
    uploads: list[Upload] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    sessions: list[Connected] = field(default_factory=list)
    invalid: list[float] = field(default_factory=list)

    def by_method(self, account: str = "") -> Counter[str]:
        return Counter(call.method for call in self.calls if account in ("", call.account))
