"""Faults made on purpose: which of a platform's next calls fail, and how."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    """How a call fails; docs/loopback.md says which platform supports which fault."""

    WAIT = "wait"
    ERROR = "error"
    DISCONNECT = "disconnect"
    TIMEOUT = "timeout"
    DROP_AFTER_ACCEPT = "drop_after_accept"
    STALE = "stale"
    FORBIDDEN = "forbidden"
    HTML_429 = "html_429"
    SHORT_PAGE = "short_page"
    MISSING_ROW = "missing_row"
    TOO_LONG = "too_long"
    EXPIRED_REFERENCE = "expired_reference"
    SEARCH_LAG = "search_lag"
    INVALID_SESSION = "invalid_session"
    BANNED = "banned"
    SIGNED_OUT = "signed_out"
    REPLACED = "replaced"


@dataclass(slots=True)
class Fault:
    """Applies to the next *count* matching calls; an empty method, account or channel matches every call."""

    kind: FaultKind
    method: str = ""
    count: int = 1
    seconds: float = 0
    code: str = ""
    account: str = ""
    channel: int = 0

    def fits(self, method: str, account: str, channels: Collection[int]) -> bool:
        return (
            self.method in ("", method)
            and self.account in ("", account)
            and (not self.channel or self.channel in channels)
        )


class Faults:
    """The faults that are still to be applied, in the order they were requested."""

    def __init__(self) -> None:
        self.waiting: list[Fault] = []

    def add(self, fault: Fault) -> None:
        self.waiting.append(fault)

    def clear(self) -> None:
        self.waiting.clear()

    def strike(self, method: str, account: str, channels: Collection[int]) -> Fault | None:
        """The fault that applies to this call, if any; its count is lowered by one."""
        for fault in self.waiting:
            if fault.fits(method, account, channels):
                fault.count -= 1
                if fault.count <= 0:
                    self.waiting.remove(fault)
                return fault
        return None
