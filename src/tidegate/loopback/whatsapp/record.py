"""The platform's own record of what it was asked and given; it can contradict ours."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from tidegate.loopback.record import Upload


@dataclass(slots=True)
class Call:
    """One call as it arrived; the account is a phone number, empty before a device is paired."""

    at: datetime
    account: str
    method: str
    channel: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """One message accepted from a client. WhatsApp takes no key of ours; *part* is the name or kind of its file."""

    at: datetime
    account: str
    target: str
    key: str
    message: str
    part: str


@dataclass(slots=True)
class Connected:
    """One connection of a device; two of one account at a time are two owners."""

    number: int
    opened_at: datetime
    account: str = ""
    closed_at: datetime | None = None


@dataclass(slots=True)
class Record:
    """Everything, in the order it came."""

    calls: list[Call] = field(default_factory=list)
    sends: list[Sent] = field(default_factory=list)
    uploads: list[Upload] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    sessions: list[Connected] = field(default_factory=list)

    def by_method(self, account: str = "") -> Counter[str]:
        return Counter(call.method for call in self.calls if account in ("", call.account))
