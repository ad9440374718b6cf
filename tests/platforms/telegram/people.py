"""Who takes part in these tests: an account, and a person who answers what signing in asks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import shake_256

from tests.platforms.drawer import Drawer
from tidegate.core.account import Account, AccountState, Standing
from tidegate.core.ids import AccountId
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.loopback.telegram.encryption import key_id
from tidegate.loopback.telegram.world.world import SignIn
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.telegram.connector import LoopbackTelegram
from tidegate.platforms.telegram.session import SIGN_IN

PHONE = "+1000001"
CONTROL = "http://127.0.0.1:1"


@dataclass
class Person:
    """Reads the code off the platform, after having mistyped it *wrong* times; likewise the password."""

    world: World
    number: str = PHONE
    wrong: int = 0
    wrong_passwords: int = 0
    asked: list[str] = field(default_factory=list)

    async def phone(self) -> str:
        self.asked.append("phone")
        return self.number

    async def code(self, sent_to: str, *, again: str) -> str:
        self.asked.append(f"code in {sent_to}" + (f"; {again}" if again else ""))
        self.wrong -= 1
        return "nonsense" if self.wrong >= 0 else self._known().code

    async def password(self, hint: str, *, again: str) -> str:
        self.asked.append("password" + (f"; {again}" if again else ""))
        self.wrong_passwords -= 1
        return "nonsense" if self.wrong_passwords >= 0 else self._known().password

    def _known(self):
        account = self.world.account_by_phone(self.number)
        assert account is not None
        return account


def account(name: str = "reader") -> Account:
    return Account(
        AccountId(1), name, TELEGRAM, Standing.NORMAL, AccountState.ACTIVE, state_until=None, loopback=CONTROL
    )


def known_key(world: World, phone: str = PHONE) -> bytes:
    """A key of an account that the platform knows as after an earlier sign-in; it saves the exchange of one."""
    known = world.account_by_phone(phone)
    assert known is not None
    secret = shake_256(f"{phone} {len(world.sign_ins)}".encode()).digest(256)
    world.sign_ins[key_id(secret)] = SignIn(secret, account=known.id)
    return secret


def signed_in_before(world: World, drawer: Drawer, phone: str = PHONE) -> None:
    """Give an account a key that platform and vault both know."""
    values = {"centre": 2, "address": "127.0.0.1", "port": 1, "key": known_key(world, phone).hex()}
    drawer.kept[SIGN_IN] = json.dumps(values).encode()


async def come_back(server: TelegramServer) -> None:
    """Let a platform that was closed answer again, where its clients look for it."""
    server._port = int(server.address.rpartition(":")[2])
    server.world.listeners.append(server._push)
    await server.start()


def finding(server: TelegramServer):
    """How the adapter finds this very server, whatever control address it is given."""

    async def find(control: str) -> LoopbackTelegram:
        return LoopbackTelegram(server.address, server.public_key_pem)

    return find
