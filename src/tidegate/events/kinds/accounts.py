"""Accounts. The subject is the account's name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.events.event_data import EventData


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountAdded(EventData):
    """An account was added."""

    kind = "account.added"
    platform: str
    standing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountStateChanged(EventData):
    """Whether an account may work has changed; *until* is the end of a ban, where it is known."""

    until: datetime | None
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPaused(AccountStateChanged):
    """An account was paused."""

    kind = "account.paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountResumed(AccountStateChanged):
    """An account works again."""

    kind = "account.resumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSignedOut(AccountStateChanged):
    """The platform signed an account out."""

    kind = "account.signed_out"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountBanned(AccountStateChanged):
    """The platform banned an account."""

    kind = "account.banned"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountStandingSet(EventData):
    """How well the platform knows an account was set; *was* is the standing before."""

    kind = "account.standing_set"
    standing: str
    was: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRenamed(EventData):
    """An account has another name; *was* is the name before."""

    kind = "account.renamed"
    was: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountProxySet(EventData):
    """An account connects through another proxy, or without one; *proxy* is its scheme, host and port."""

    kind = "account.proxy_set"
    proxy: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountUnreachable(EventData):
    """The platform cannot be reached for an account."""

    kind = "account.unreachable"
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountReachable(EventData):
    """The platform can be reached for an account again."""

    kind = "account.reachable"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRemoved(EventData):
    """An account was removed."""

    kind = "account.removed"
