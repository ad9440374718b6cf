"""The words every part of the house shares; docs/words.md explains them to operators."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

AccountId = NewType("AccountId", int)
WorkerNumber = NewType("WorkerNumber", int)
CommandId = NewType("CommandId", int)
CallId = NewType("CallId", int)
ReminderId = NewType("ReminderId", int)
RunId = NewType("RunId", int)


class Platform(StrEnum):
    """Where an account is signed in."""

    TELEGRAM = "telegram"
    DISCORD = "discord"
    WHATSAPP = "whatsapp"

    @property
    def brand(self) -> str:
        """As the platform writes its own name."""
        return "WhatsApp" if self is Platform.WHATSAPP else self.value.title()


class Standing(StrEnum):
    """How well the platform knows an account; it sets the pace the account survives."""

    NEW = "new"
    NORMAL = "normal"
    ESTABLISHED = "established"


class AccountState(StrEnum):
    """Whether an account may work; every state but ACTIVE waits for the person's next action."""

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


class CallKind(StrEnum):
    """What a call was for: our work, or what a library sends by itself to connect, sign in and stay alive."""

    WORK = "work"
    CONNECT = "connect"


class Outcome(StrEnum):
    """How a call ended. CLAIMED means: charged, perhaps sent, and never answered."""

    CLAIMED = "claimed"
    OK = "ok"
    ASKED_TO_WAIT = "asked_to_wait"
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"
    FAILED = "failed"


class ScopeKind(StrEnum):
    """How much of an account a wait stops."""

    ACCOUNT = "account"
    METHOD = "method"
    BUCKET = "bucket"
    CHAT = "chat"


@dataclass(frozen=True, slots=True)
class Scope:
    """What has to wait: the whole account, or one method, rate-limit bucket or chat of it."""

    kind: ScopeKind = ScopeKind.ACCOUNT
    key: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """What an owner may do: work for *account* in *epoch* until its own clock (``Clock.ticks``) passes *deadline*."""

    account: AccountId
    epoch: int
    deadline: float


@dataclass(frozen=True, slots=True)
class Account:
    """A signed-in identity on one platform, as the store knows it.

    *identity* is the platform's own number of the person or bot, None while nobody knows it; *why* is what the platform
    or Tidegate said when it stopped the account.
    """

    id: AccountId
    name: str
    platform: Platform
    standing: Standing
    state: AccountState
    state_until: datetime | None
    loopback: str | None
    identity: int | None = None
    why: str | None = None

    @property
    def stands(self) -> str:
        """What state it is in, why, and what a person does about it."""
        todo = self.state.next_action.replace("NAME", self.name)
        why = f"{self.why} Next: " if self.why else ""
        return f'Account "{self.name}" is {self.state.value.replace("_", " ")}: {why}{todo}.'
