"""Promise: an account is one person or bot, from the first sign-in to the last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from tests.platforms.relay_proxy import relay_proxy
from tests.waiting import until
from tidegate.accounts.queries import accounts, secrets
from tidegate.app import operator_requests
from tidegate.app.account_setup import join, new_account, rejoin, set_proxy
from tidegate.app.composition import Runtime, key_ring, run_worker
from tidegate.app.settings import Settings
from tidegate.app.worker_setup import worker_setup
from tidegate.core.account import Account, AccountState, Standing
from tidegate.core.clock import SystemClock
from tidegate.core.errors import BadInput
from tidegate.core.platform import Platform, registered_platforms
from tidegate.core.rules.outgoing_proxy import parse_proxy
from tidegate.loopback.control_server import serving
from tidegate.loopback.counting_world import World
from tidegate.loopback.discord import World as DiscordWorld
from tidegate.loopback.platform_set import Platforms
from tidegate.loopback.telegram import World as TelegramWorld
from tidegate.loopback.whatsapp import World as WhatsAppWorld
from tidegate.platforms.account_proxy import proxy_of
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.telegram import TELEGRAM

PHONES = ("+1000001", "+1000002")


@dataclass(frozen=True, slots=True)
class Town:
    """Platforms on which there are two of everybody, and where they are."""

    runtime: Runtime
    platforms: Platforms
    control: str

    def signed_out(self, platform: Platform) -> int:
        """How many sessions were ended at their own wish."""
        if platform is TELEGRAM:
            return self.platforms.telegram.world.record.by_method()["auth.logOut"]
        return self.platforms.whatsapp.world.record.by_method()["Logout"]


@dataclass(frozen=True, slots=True)
class Somebody:
    """Signs in as the first or the second of them (``openings.Person``)."""

    town: Town
    which: int

    async def phone(self) -> str:
        return PHONES[self.which]

    async def code(self, sent_to: str, *, again: str) -> str:
        account = self.town.platforms.telegram.world.account_by_phone(PHONES[self.which])
        assert account is not None
        return account.code

    async def password(self, hint: str, *, again: str) -> str:
        raise AssertionError("nobody has one")

    async def token(self) -> str:
        world = self.town.platforms.discord.world
        return world.token(list(world.bots.values())[self.which])

    async def linked_by(self) -> str | None:
        return None

    async def show_qr(self, text: str) -> None:
        server = self.town.platforms.whatsapp
        (pairing,) = [one for one in server.world.pairings if one.qr == text]
        server.scan(list(server.world.phones.values())[self.which], pairing)

    async def show_code(self, code: str) -> None:
        raise AssertionError("the phone scans")


@pytest.fixture
async def town(world: World) -> AsyncIterator[Town]:
    clock = SystemClock()
    telegram, discord, whatsapp = TelegramWorld(clock), DiscordWorld(clock), WhatsAppWorld(clock)
    for phone, name in zip(PHONES, ("Ada", "Bob"), strict=True):
        telegram.add_account(phone, name)
        discord.add_bot(name)
        whatsapp.add_phone(phone, name)
    platforms = Platforms.of(((telegram, 0), (discord, 0), (whatsapp, 0)), clock)
    async with serving(platforms, world.platform, world.at) as control:
        yield Town(Runtime(Settings(home=world.home), world.database), platforms, control)


@pytest.mark.parametrize("platform", registered_platforms())
async def test_nobody_else_is_signed_in_as_it_and_nobody_twice(town: Town, platform: Platform) -> None:
    """Somebody else would send one person's reminders as another; the same one twice would send at twice the pace.

    Who is refused is told so in a sentence, keeps no session here or there, and leaves the account as it was.
    """
    runtime, ada, bob = town.runtime, Somebody(town, 0), Somebody(town, 1)
    await join(runtime, new_account("shop", platform, Standing.NORMAL, town.control), ada)
    with pytest.raises(BadInput, match='signed in already, as the account "shop"'):
        await join(runtime, new_account("twin", platform, Standing.NORMAL, town.control), ada)
    async with runtime.database.transaction() as connection:
        shop = (await accounts.find(connection, "shop")).account
        await accounts.change_state(connection, shop.id, AccountState.SIGNED_OUT, expected=[AccountState.ACTIVE])
        shop = (await accounts.find(connection, "shop")).account
        assert len(await accounts.listing(connection)) == 1
        kept = await connection.fetch("SELECT * FROM secrets")

    with pytest.raises(BadInput, match='is not who "shop" has been so far'):
        await rejoin(runtime, shop, bob)
    async with runtime.database.connection() as connection:
        assert (await accounts.find(connection, "shop")).account.state is AccountState.SIGNED_OUT
        assert await connection.fetch("SELECT * FROM secrets") == kept
    if platform is not DISCORD:  # a token is no session
        assert town.signed_out(platform) == 2

    await rejoin(runtime, shop, ada)
    await join(runtime, new_account("other", platform, Standing.NORMAL, town.control), bob)
    async with runtime.database.connection() as connection:
        assert [one.account.state for one in await accounts.listing(connection)] == [AccountState.ACTIVE] * 2


async def test_a_proxy_that_is_set_during_a_sign_in_stays(town: Town) -> None:
    """Signing in again stores what the sign-in made, and not the proxy that the account had when it began."""
    runtime = town.runtime
    await join(runtime, new_account("shop", DISCORD, Standing.NORMAL, town.control), Somebody(town, 0))
    async with relay_proxy() as proxy, relay_proxy() as other:
        async with runtime.database.transaction() as connection:
            shop = (await accounts.find(connection, "shop")).account
            await accounts.change_state(connection, shop.id, AccountState.SIGNED_OUT, expected=[AccountState.ACTIVE])
            shop = (await accounts.find(connection, "shop")).account
        await set_proxy(runtime, shop, parse_proxy(proxy.url))

        class Slow(Somebody):
            """Meanwhile the operator sets another proxy."""

            async def token(self) -> str:
                await set_proxy(runtime, shop, parse_proxy(other.url))
                return await super().token()

        await rejoin(runtime, shop, Slow(town, 0))
    vault = secrets.AccountVault(runtime.database, await key_ring(runtime), shop.id)
    assert await proxy_of(vault) == parse_proxy(other.url)


@asynccontextmanager
async def served(runtime: Runtime) -> AsyncIterator[None]:
    """A worker serves all accounts in the block."""
    trade, stop = await worker_setup(runtime, every=None), asyncio.Event()
    worker = asyncio.create_task(
        run_worker(runtime, openers=trade.openers, work=trade.work, handlers=trade.handlers, stop=stop)
    )
    try:
        yield
    finally:
        stop.set()
        await worker


async def forget_who_they_are(runtime: Runtime) -> None:
    """As accounts are that were added before Tidegate kept it."""
    await runtime.database.pool.execute("UPDATE accounts SET identity = NULL")


async def standing(runtime: Runtime, name: str) -> Account:
    async with runtime.database.connection() as connection:
        return (await accounts.find(connection, name)).account


@pytest.mark.parametrize("platform", registered_platforms())
async def test_an_account_of_before_is_known_once_it_connects(town: Town, platform: Platform) -> None:
    """Who it is was told on connecting, without a further call; from then on it is nobody else, and nobody twice."""
    runtime, ada = town.runtime, Somebody(town, 0)
    me = await join(runtime, new_account("shop", platform, Standing.NORMAL, town.control), ada)
    await forget_who_they_are(runtime)

    async def known() -> bool:
        return (await standing(runtime, "shop")).identity == me.id

    async with served(runtime):
        await until(known)
    with pytest.raises(BadInput, match='signed in already, as the account "shop"'):
        await join(runtime, new_account("twin", platform, Standing.NORMAL, town.control), ada)
    asked = await runtime.database.pool.fetch("SELECT method FROM calls WHERE kind = 'work'")
    assert asked == []


@pytest.mark.parametrize("platform", registered_platforms())
async def test_two_accounts_of_one_person_wait_for_a_person(town: Town, platform: Platform) -> None:
    """The one that is found out does not work until a person has removed either, and everybody is told why."""
    runtime, ada = town.runtime, Somebody(town, 0)
    await join(runtime, new_account("shop", platform, Standing.NORMAL, town.control), ada)
    await forget_who_they_are(runtime)
    await join(runtime, new_account("twin", platform, Standing.NORMAL, town.control), ada)

    async def stopped() -> bool:
        return (await standing(runtime, "shop")).state is AccountState.PAUSED

    async def works() -> bool:
        return (await standing(runtime, "shop")).identity is not None

    async with served(runtime):
        await until(stopped)
        assert (await standing(runtime, "twin")).state is AccountState.ACTIVE
        shop = await standing(runtime, "shop")
        assert 'signed in already, as the account "twin"' in (shop.why or "")
        assert "tidegate account remove" in shop.stands
        async with runtime.database.transaction() as connection:
            [event] = await connection.fetch("SELECT data FROM events WHERE kind = 'account.paused'")
            assert event["data"]["why"] == shop.why
            await accounts.remove(connection, (await accounts.find(connection, "twin")).account.id, "twin")
            await operator_requests.resume(connection, "shop")
        await until(works)
    shop = await standing(runtime, "shop")
    assert (shop.state, shop.why) == (AccountState.ACTIVE, None)
