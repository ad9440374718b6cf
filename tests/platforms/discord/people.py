"""Who takes part in these tests: a vault, an account, and a person who is asked for a token."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.words import Account, AccountId, AccountState, Platform, Standing

CONTROL = "http://127.0.0.1:1"


@dataclass
class Drawer:
    """A vault that forgets everything with its test."""

    kept: dict[str, bytes] = field(default_factory=dict)

    async def read(self, name: str) -> bytes | None:
        return self.kept.get(name)

    async def write(self, name: str, secret: bytes) -> None:
        self.kept[name] = secret


@dataclass
class Person:
    """Answers what signing in asks."""

    answer: str

    async def token(self) -> str:
        return self.answer


def account(name: str = "reader") -> Account:
    return Account(
        AccountId(1), name, Platform.DISCORD, Standing.NORMAL, AccountState.ACTIVE, state_until=None, loopback=CONTROL
    )
