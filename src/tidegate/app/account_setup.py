"""Adding an account: a person signs it in, and account and sign-in are stored together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from tidegate.accounts.key_ring import KeyRing
from tidegate.accounts.queries import accounts, secrets
from tidegate.app.composition import Runtime, allowance_of, key_ring
from tidegate.app.platform_registry import adapter_of
from tidegate.core.account import Account, AccountState, Standing
from tidegate.core.clock import SystemClock
from tidegate.core.errors import BadInput
from tidegate.core.ids import AccountId
from tidegate.core.platform import Platform
from tidegate.core.rules.outgoing_proxy import ProxyAddress
from tidegate.database.pool import Database
from tidegate.lanes.queries import pace
from tidegate.lanes.queries.calls import CallLog
from tidegate.platforms.account_proxy import PROXY, require_working
from tidegate.platforms.interface import Accept, Me, SignInAttempt, SignInPrompts
from tidegate.workers.queries import commands, workers


@dataclass
class SignedIn:
    """The result of a sign-in: secrets to store (``port.Vault``, in memory), and the calls it took."""

    secrets: dict[str, bytes] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    async def read(self, name: str) -> bytes | None:
        return self.secrets.get(name)

    async def write(self, name: str, secret: bytes) -> None:
        self.secrets[name] = secret


def new_account(name: str, platform: Platform, standing: Standing, loopback: str | None) -> Account:
    """An account that is to be added; its number is made when it is stored."""
    return Account(AccountId(0), name, platform, standing, AccountState.ACTIVE, state_until=None, loopback=loopback)


async def join(runtime: Runtime, new: Account, person: SignInPrompts, *, proxy: ProxyAddress | None = None) -> Me:
    """Sign *new* in with the answers of *person* and store it; a name that is taken is refused before any question.

    With a *proxy*, which is tried first, it signs in and connects through that. Returns who it is on its platform.
    """
    async with runtime.database.connection() as connection:
        await accounts.require_new_name(connection, new.name)
    signed_in = SignedIn()
    if proxy is not None:
        await require_usable(new, proxy)
        signed_in.secrets[PROXY] = proxy.url.encode()
    me = await _sign_in(runtime, new, signed_in, person)
    await _store(runtime, new, signed_in, me, proxy)
    return me


async def list_at_once(database: Database, name: str) -> bool:
    """Have a worker list the channels and groups of a new account; False where no worker runs that would soon."""
    async with database.transaction() as connection:
        if not await workers.alive(connection):
            return False
        account = (await accounts.find(connection, name)).account
        await commands.ask_once(connection, account.id, "sync")
    return True


async def rejoin(runtime: Runtime, account: Account, person: SignInPrompts) -> Me:
    """Sign an account in again that its platform signed out; its channels, reminders, runs and pace stay.

    They belong to one person or bot, so any other identity is refused. Returns who it is on its platform.
    """
    if account.state is not AccountState.SIGNED_OUT:
        raise BadInput(f'"{account.name}" is {account.state.value}, not signed out; there is nothing to sign in again.')
    signed_in = SignedIn()
    if (proxy := await _vault(runtime, account, await key_ring(runtime)).read(PROXY)) is not None:
        signed_in.secrets[PROXY] = proxy
    try:
        me = await _sign_in(runtime, account, signed_in, person)
    finally:
        await _count(runtime, account.id, signed_in)
    ring = await key_ring(runtime)
    async with runtime.database.transaction() as connection:
        for name, secret in signed_in.secrets.items():
            if name != PROXY:  # it may have been changed meanwhile
                await secrets.keep(connection, ring, account.id, name, secret)
        await accounts.note_identity(connection, account.id, me.id)
        await accounts.change_state(connection, account.id, AccountState.ACTIVE, expected=[AccountState.SIGNED_OUT])
        await commands.ask(connection, account.id, "look_again", {})
        await commands.wake(connection)
    return me


async def set_proxy(runtime: Runtime, account: Account, proxy: ProxyAddress | None) -> None:
    """Connect an account through a proxy from now on, or without one; it is tried first, and refused if it fails.

    Its whole address is sealed as a sign-in is. The worker that serves the account connects again.
    """
    if proxy is not None:
        await require_usable(account, proxy)
    ring = await key_ring(runtime)
    async with runtime.database.transaction() as connection:
        if proxy is None:
            await secrets.forget(connection, account.id, PROXY)
        else:
            await secrets.keep(connection, ring, account.id, PROXY, proxy.url.encode())
        await accounts.note_proxy(connection, account, None if proxy is None else proxy.shown)
        if await workers.serves(connection, account.id):  # a worker that takes it later connects anyway
            await commands.ask(connection, account.id, "reconnect", {})
            await commands.wake(connection)


async def require_usable(account: Account, proxy: ProxyAddress) -> None:
    """Refuse a proxy that the platform's library cannot use, or that does not lead to the platform."""
    platform = account.platform
    if proxy.scheme not in platform.proxy_schemes:
        known = " or ".join(f"{one}://" for one in platform.proxy_schemes)
        can = f"only through {known} proxies" if known else "through no proxy"
        raise BadInput(f"{platform.brand} accounts connect {can}. Nothing was changed.")
    if account.loopback is not None:
        there = urlsplit(account.loopback)
        await require_working(proxy, str(there.hostname), there.port or 80)
    elif platform.reached_at is not None:
        await require_working(proxy, *platform.reached_at)


async def forget(runtime: Runtime, account: Account) -> None:
    """Delete what its platform's library stores of an account that is about to be removed."""
    vault = _vault(runtime, account, await key_ring(runtime))
    await adapter_of(account.platform, runtime, SystemClock()).forget(account, vault)


def _vault(runtime: Runtime, account: Account, ring: KeyRing) -> secrets.AccountVault:
    return secrets.AccountVault(runtime.database, ring, account.id)


async def _sign_in(runtime: Runtime, account: Account, signed_in: SignedIn, person: SignInPrompts) -> Me:
    adapter = adapter_of(account.platform, runtime, SystemClock())
    attempt = SignInAttempt(account, signed_in, signed_in.calls.append, _nobody_else(runtime, account))
    return await adapter.sign_in(attempt, person)


def _nobody_else(runtime: Runtime, account: Account) -> Accept:
    """Accepts only the identity that the account had so far, and none that another account has."""

    async def accept(me: Me) -> None:
        async with runtime.database.connection() as connection:
            await accounts.require_same(connection, account, me.id, me.name)

    return accept


async def _store(runtime: Runtime, new: Account, signed_in: SignedIn, me: Me, proxy: ProxyAddress | None) -> None:
    """The account and its sign-in, in one transaction: no worker sees the one without the other."""
    ring = await key_ring(runtime) if signed_in.secrets else None
    async with runtime.database.transaction() as connection:
        number = await accounts.add(connection, new.name, new.platform, new.standing, loopback=new.loopback)
        await accounts.note_identity(connection, number, me.id)
        await pace.set_pace(connection, number, allowance_of(runtime.settings, new.platform, new.standing))
        for name, secret in signed_in.secrets.items() if ring else ():
            assert ring is not None
            await secrets.keep(connection, ring, number, name, secret)
        if proxy is not None:
            await accounts.note_proxy(connection, replace(new, id=number), proxy.shown)
        await commands.wake(connection)
    await _count(runtime, number, signed_in)


async def _count(runtime: Runtime, number: AccountId, signed_in: SignedIn) -> None:
    """Record the calls of a sign-in in the call log."""
    call_log = CallLog(runtime.database, SystemClock())
    for method in signed_in.calls:
        call_log.connecting(number)(method)
    await call_log.close()
