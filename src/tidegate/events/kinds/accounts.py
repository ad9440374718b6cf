"""Accounts. The subject is the account's name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.events.event_data import EventData, event_kind


@event_kind("account.added")
class AccountAdded(EventData):
    """An account was added."""

    platform: str
    standing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountStateChanged(EventData):
    """Whether an account may work has changed; *until* is the end of a ban, where it is known."""

    until: datetime | None
    why: str | None = None


@event_kind("account.paused")
class AccountPaused(AccountStateChanged):
    """An account was paused."""


@event_kind("account.resumed")
class AccountResumed(AccountStateChanged):
    """An account works again."""


@event_kind("account.signed_out")
class AccountSignedOut(AccountStateChanged):
    """The platform signed an account out."""


@event_kind("account.banned")
class AccountBanned(AccountStateChanged):
    """The platform banned an account."""


@event_kind("account.standing_set")
class AccountStandingSet(EventData):
    """How well the platform knows an account was set; *was* is the standing before."""

    standing: str
    was: str


@event_kind("account.renamed")
class AccountRenamed(EventData):
    """An account has another name; *was* is the name before."""

    was: str


@event_kind("account.proxy_set")
class AccountProxySet(EventData):
    """An account connects through another proxy, or without one; *proxy* is its scheme, host and port."""

    proxy: str | None


@event_kind("account.unreachable")
class AccountUnreachable(EventData):
    """The platform cannot be reached for an account."""

    why: str


@event_kind("account.reachable")
class AccountReachable(EventData):
    """The platform can be reached for an account again."""


@event_kind("account.removed")
class AccountRemoved(EventData):
    """An account was removed."""
