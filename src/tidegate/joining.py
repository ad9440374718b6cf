"""Adding an account: a person signs it in, and account and sign-in are stored together."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.app import House, allowance_of, key_ring
from tidegate.clock import SystemClock
from tidegate.errors import BadInput
from tidegate.openings import Person, sign_in
from tidegate.port import Accept, Me
from tidegate.store import accounts, commands, pace, secrets
from tidegate.store.calls import Ledger
from tidegate.words import Account, AccountId, AccountState, Platform, Standing


@dataclass
class SignedIn:
    """What signing in has brought: secrets to keep (``port.Vault``, in memory), and the calls it took."""

    secrets: dict[str, bytes] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    async def read(self, name: str) -> bytes | None:
        return self.secrets.get(name)

    async def write(self, name: str, secret: bytes) -> None:
        self.secrets[name] = secret


def new_account(name: str, platform: Platform, standing: Standing, loopback: str | None) -> Account:
    """An account that is to be added; its number is made when it is stored."""
    return Account(AccountId(0), name, platform, standing, AccountState.ACTIVE, state_until=None, loopback=loopback)


async def join(house: House, new: Account, person: Person) -> Me:
    """Sign *new* in with the answers of *person* and store it; a name that is taken is refused before any question.

    Returns who it is on its platform.
    """
    async with house.database.connection() as connection:
        await accounts.require_free(connection, new.name)
    signed_in = SignedIn()
    me = await sign_in(house, new, signed_in, signed_in.calls.append, person, accept=_nobody_else(house, new))
    await _store(house, new, signed_in, me)
    return me


async def rejoin(house: House, account: Account, person: Person) -> Me:
    """Sign an account in again that its platform signed out; its channels, reminders, runs and pace stay.

    They belong to one person or bot, so anybody else is refused. Returns who it is on its platform.
    """
    if account.state is not AccountState.SIGNED_OUT:
        raise BadInput(f'"{account.name}" is {account.state.value}, not signed out; there is nothing to sign in again.')
    signed_in = SignedIn()
    try:
        accept = _nobody_else(house, account)
        me = await sign_in(house, account, signed_in, signed_in.calls.append, person, accept=accept)
    finally:
        await _count(house, account.id, signed_in)
    ring = await key_ring(house)
    async with house.database.transaction() as connection:
        for name, secret in signed_in.secrets.items():
            await secrets.keep(connection, ring, account.id, name, secret)
        await accounts.note_identity(connection, account.id, me.id)
        await accounts.change_state(connection, account.id, AccountState.ACTIVE, expected=[AccountState.SIGNED_OUT])
        await commands.ask(connection, account.id, "look_again", {})
        await commands.wake(connection)
    return me


def _nobody_else(house: House, account: Account) -> Accept:
    """Takes only who the account has been so far, and nobody who is another account already."""

    async def accept(me: Me) -> None:
        async with house.database.connection() as connection:
            await accounts.require_same(connection, account, me.id, me.name)

    return accept


async def _store(house: House, new: Account, signed_in: SignedIn, me: Me) -> None:
    """The account and its sign-in, in one transaction: no worker sees the one without the other."""
    ring = await key_ring(house) if signed_in.secrets else None
    async with house.database.transaction() as connection:
        number = await accounts.add(connection, new.name, new.platform, new.standing, loopback=new.loopback)
        await accounts.note_identity(connection, number, me.id)
        await pace.set_pace(connection, number, allowance_of(house.settings, new.platform, new.standing))
        for name, secret in signed_in.secrets.items() if ring else ():
            assert ring is not None
            await secrets.keep(connection, ring, number, name, secret)
        await commands.wake(connection)
    await _count(house, number, signed_in)


async def _count(house: House, number: AccountId, signed_in: SignedIn) -> None:
    """Put what signing in cost on the ledger."""
    ledger = Ledger(house.database, SystemClock())
    for method in signed_in.calls:
        ledger.connecting(number)(method)
    await ledger.close()
