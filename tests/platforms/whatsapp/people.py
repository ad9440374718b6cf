"""Who takes part in these tests: an account, and a place for keys that a loopback account never asks for."""

from __future__ import annotations

from tidegate.core.account import Account, AccountState, Standing
from tidegate.core.ids import AccountId
from tidegate.platforms.whatsapp import WHATSAPP

CONTROL = "http://127.0.0.1:1"
PHONE = "6281200000001"


class NoSessions:
    """A loopback account keeps no keys."""

    async def address(self) -> str:
        raise AssertionError("a loopback account asked for a session store")

    async def holds(self, device: str) -> bool:
        raise AssertionError("a loopback account asked for its keys")

    async def names_under(self, secret: bytes) -> list[str]:
        raise AssertionError("a loopback account asked for the library's record")


def account(name: str = "shop") -> Account:
    return Account(
        AccountId(1), name, WHATSAPP, Standing.NORMAL, AccountState.ACTIVE, state_until=None, loopback=CONTROL
    )
