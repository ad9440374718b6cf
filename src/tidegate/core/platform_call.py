"""A call to a platform as every package knows it: what it was for, how it ended, and what a rate limit stops."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

IDS_A_CALL = 100
"""How many messages or topics one call fetches by their ids."""


class CallKind(StrEnum):
    """What a call was for."""

    WORK = "work"
    CONNECT = "connect"  # what a library sends on its own to connect, sign in and stay connected


class CallOutcome(StrEnum):
    """How a call ended."""

    CLAIMED = "claimed"  # charged, perhaps sent, and never answered
    OK = "ok"
    ASKED_TO_WAIT = "asked_to_wait"
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"
    FAILED = "failed"


class ScopeKind(StrEnum):
    """How much of an account a wait stops."""

    ACCOUNT = "account"
    METHOD = "method"
    BUCKET = "bucket"  # calls that share a rate limit
    CHAT = "chat"


@dataclass(frozen=True, slots=True)
class Scope:
    """What has to wait: the whole account, or one method, rate-limit bucket or chat of it."""

    kind: ScopeKind = ScopeKind.ACCOUNT
    key: str = ""
