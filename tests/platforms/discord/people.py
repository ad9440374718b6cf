"""Who takes part in these tests: an account, and a person who is asked for a token."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.account import Account, AccountState, Standing
from tidegate.core.ids import AccountId
from tidegate.platforms.discord import DISCORD

CONTROL = "http://127.0.0.1:1"


@dataclass
class Person:
    """Answers what signing in asks."""

    answer: str

    async def token(self) -> str:
        return self.answer


def account(name: str = "reader") -> Account:
    return Account(
        AccountId(1), name, DISCORD, Standing.NORMAL, AccountState.ACTIVE, state_until=None, loopback=CONTROL
    )
