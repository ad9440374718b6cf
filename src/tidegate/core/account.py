"""An account as every package knows it: its state and standing, and the claim of the worker that owns it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tidegate.core.ids import AccountId, UserId
from tidegate.core.platform import Platform


class Standing(StrEnum):
    """How well the platform knows an account; it sets how fast the account may send."""

    NEW = "new"
    NORMAL = "normal"
    ESTABLISHED = "established"


class AccountState(StrEnum):
    """Whether an account may work; every state but ACTIVE needs an action of the operator."""

    ACTIVE = "active"
    PAUSED = "paused"
    SIGNED_OUT = "signed_out"
    BANNED = "banned"

    @property
    def next_action(self) -> str:
        """What a person does to bring the account back; empty when nothing is needed."""
        return _NEXT_ACTIONS[self]


_NEXT_ACTIONS = {
    AccountState.ACTIVE: "",
    AccountState.PAUSED: "resume it with: tidegate account resume NAME",
    AccountState.SIGNED_OUT: "sign it in again: tidegate account sign-in NAME",
    AccountState.BANNED: "wait for the ban to end, find out why it came, then: tidegate account resume NAME",
}


@dataclass(frozen=True, slots=True)
class Claim:
    """The right of an owner to work for an account."""

    account: AccountId
    epoch: int  # counts the owners that the account has had
    deadline: float  # by the owner's own clock (``Clock.ticks``); its right ends then


@dataclass(frozen=True, slots=True)
class AccountFields:
    """What every view of an account has; *loopback* is the control address of a loopback platform."""

    id: AccountId
    name: str
    platform: Platform
    standing: Standing
    state: AccountState
    state_until: datetime | None
    loopback: str | None

    @property
    def next_action(self) -> str:
        """What a person does next about the account."""
        return self.state.next_action.replace("NAME", self.name)


@dataclass(frozen=True, slots=True)
class Account(AccountFields):
    """A signed-in identity on one platform, as it is stored.

    *identity* is the platform's own number of the person or bot, None while it is unknown. *why* is what the platform
    or Tidegate said when it stopped the account.
    """

    identity: UserId | None = None
    why: str | None = None

    @property
    def stands(self) -> str:
        """A sentence: its state, why, and what a person does next."""
        why = f"{self.why} Next: " if self.why else ""
        return f'Account "{self.name}" is {self.state.value.replace("_", " ")}: {why}{self.next_action}.'
