"""The operations on a platform as a whole: connect accounts, sign them in, and forget them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tidegate.core.account import Account
from tidegate.platforms.interface.capabilities import Accept, NoteConnect, Opener, Vault, anybody
from tidegate.platforms.interface.values import Me


class TokenPrompts(Protocol):
    """How a person provides the token of a bot."""

    async def token(self) -> str: ...


class PhonePrompts(Protocol):
    """How a person signs in with a phone number.

    *again* is why the last answer was rejected, and empty the first time.
    """

    async def phone(self) -> str: ...
    async def code(self, sent_to: str, *, again: str) -> str: ...
    async def password(self, hint: str, *, again: str) -> str: ...


class DevicePrompts(Protocol):
    """How a person links a device to the phone that owns the account."""

    async def linked_by(self) -> str | None:
        """The phone number into which a code is typed; None when the phone scans one."""

    async def show_qr(self, text: str) -> None: ...
    async def show_code(self, code: str) -> None: ...


class SignInPrompts(TokenPrompts, PhonePrompts, DevicePrompts, Protocol):
    """The person who signs an account in, at a terminal or on a page."""


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """An account that is being signed in."""

    account: Account
    vault: Vault  # where its sign-in is stored
    note_connect: NoteConnect
    accept: Accept = anybody  # may refuse who it turned out to be; then nothing is stored


class PlatformAdapter(Protocol):
    """One platform, ready to be used with the operator's settings."""

    @property
    def connect(self) -> Opener:
        """Connects accounts that are signed in."""

    async def sign_in(self, attempt: SignInAttempt, prompts: SignInPrompts) -> Me:
        """Sign an account in with a person's answers; returns who it is."""

    async def forget(self, account: Account, vault: Vault) -> None:
        """Delete what is stored about an account outside its vault, before it is removed."""
