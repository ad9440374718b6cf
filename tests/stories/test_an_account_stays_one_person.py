"""Promise: an account is one person or bot, from the first sign-in to the last."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest

from tidegate.app import House
from tidegate.clock import SystemClock
from tidegate.errors import BadInput
from tidegate.joining import join, new_account, rejoin
from tidegate.loopback.control import make_control
from tidegate.loopback.discord import DiscordServer
from tidegate.loopback.discord import World as DiscordWorld
from tidegate.loopback.living import beside
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram import World as TelegramWorld
from tidegate.loopback.whatsapp import WhatsAppServer
from tidegate.loopback.whatsapp import World as WhatsAppWorld
from tidegate.loopback.world import World
from tidegate.settings import Settings
from tidegate.store import accounts
from tidegate.web import listen, serve_web
from tidegate.words import AccountState, Platform, Standing

PHONES = ("+1000001", "+1000002")


@dataclass(frozen=True, slots=True)
class Town:
    """Platforms on which there are two of everybody, and where they are."""

    house: House
    telegram: TelegramServer
    discord: DiscordServer
    whatsapp: WhatsAppServer
    control: str

    def signed_out(self, platform: Platform) -> int:
        """How many sessions were ended at their own wish."""
        if platform is Platform.TELEGRAM:
            return self.telegram.world.record.by_method()["auth.logOut"]
        return self.whatsapp.world.record.by_method()["Logout"]


@dataclass(frozen=True, slots=True)
class Somebody:
    """Signs in as the first or the second of them (``openings.Person``)."""

    town: Town
    which: int

    async def phone(self) -> str:
        return PHONES[self.which]

    async def code(self, sent_to: str, *, again: str) -> str:
        account = self.town.telegram.world.account_by_phone(PHONES[self.which])
        assert account is not None
        return account.code

    async def password(self, hint: str, *, again: str) -> str:
        raise AssertionError("nobody has one")

    async def token(self) -> str:
        world = self.town.discord.world
        return world.token(list(world.bots.values())[self.which])

    async def linked_by(self) -> str | None:
        return None

    async def show_qr(self, text: str) -> None:
        server = self.town.whatsapp
        (pairing,) = [one for one in server.world.pairings if one.qr == text]
        server.scan(list(server.world.phones.values())[self.which], pairing)

    async def show_code(self, code: str) -> None:
        raise AssertionError("the phone scans")


@pytest.fixture
async def town(world: World) -> AsyncIterator[Town]:
    clock = SystemClock()
    telegram, discord, whatsapp = (
        TelegramWorld(clock, seed=5),
        DiscordWorld(clock, seed=5),
        WhatsAppWorld(clock, seed=5),
    )
    for number, phone in enumerate(PHONES):
        telegram.add_account(phone, ("Ada", "Bob")[number])
        discord.add_bot(("Adabot", "Bobbot")[number])
        whatsapp.add_phone(phone, ("Ada", "Bob")[number])
    servers = TelegramServer(telegram, clock), DiscordServer(discord, clock), WhatsAppServer(whatsapp, clock)
    async with AsyncExitStack() as stack:
        for server in servers:
            await server.start()
            stack.push_async_callback(server.close)
        listener = stack.enter_context(listen("127.0.0.1", 0))
        await stack.enter_async_context(beside(serve_web(make_control(world.platform, world.at, *servers), listener)))
        control = "http://{}:{}".format(*listener.getsockname()[:2])
        yield Town(House(Settings(home=world.home), world.database), *servers, control)


@pytest.mark.parametrize("platform", Platform)
async def test_nobody_else_is_signed_in_as_it_and_nobody_twice(town: Town, platform: Platform) -> None:
    """Somebody else would send one person's reminders as another; the same one twice would send at twice the pace.

    Who is refused is told so in a sentence, keeps no session here or there, and leaves the account as it was.
    """
    house, ada, bob = town.house, Somebody(town, 0), Somebody(town, 1)
    await join(house, new_account("shop", platform, Standing.NORMAL, town.control), ada)
    with pytest.raises(BadInput, match='signed in already, as the account "shop"'):
        await join(house, new_account("twin", platform, Standing.NORMAL, town.control), ada)
    async with house.database.transaction() as connection:
        shop = (await accounts.find(connection, "shop")).account
        await accounts.change_state(connection, shop.id, AccountState.SIGNED_OUT, expected=[AccountState.ACTIVE])
        shop = (await accounts.find(connection, "shop")).account
        assert len(await accounts.listing(connection)) == 1
        kept = await connection.fetch("SELECT * FROM secrets")

    with pytest.raises(BadInput, match='is not who "shop" has been so far'):
        await rejoin(house, shop, bob)
    async with house.database.connection() as connection:
        assert (await accounts.find(connection, "shop")).account.state is AccountState.SIGNED_OUT
        assert await connection.fetch("SELECT * FROM secrets") == kept
    if platform is not Platform.DISCORD:  # a token is no session
        assert town.signed_out(platform) == 2

    await rejoin(house, shop, ada)
    await join(house, new_account("other", platform, Standing.NORMAL, town.control), bob)
    async with house.database.connection() as connection:
        assert [one.account.state for one in await accounts.listing(connection)] == [AccountState.ACTIVE] * 2
