"""A loopback Discord inside the test's own process, and the adapter connected to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.platforms.discord.people import CONTROL, account
from tests.platforms.drawer import Drawer
from tests.scenes import discord_server
from tests.waiting import PATIENCE
from tidegate.core.clock import Clock, SystemClock
from tidegate.loopback.discord import DiscordServer, World
from tidegate.loopback.discord.world.places import Bot, Channel, Guild
from tidegate.platforms.discord.client import DiscordAccount
from tidegate.platforms.discord.connector import SIGN_IN, discord_opener
from tidegate.platforms.interface import UpdateHint

discord, world = discord_server.discord, discord_server.world
bot, guild = discord_server.bot, discord_server.guild

Opens = Callable[..., Awaitable[DiscordAccount]]


@pytest.fixture
def general(world: World, guild: Guild) -> Channel:
    """A channel with three messages."""
    made = world.add_channel(guild, "general")
    for text in ("one", "two", "three"):
        world.post(made, text)
    return made


@pytest.fixture
def drawer(world: World, bot: Bot) -> Drawer:
    """A vault with the bot's token in it."""
    return Drawer({SIGN_IN: world.token(bot).encode()})


@pytest.fixture
def noted() -> list[str]:
    """What was counted as connecting."""
    return []


@pytest.fixture
async def opens(discord: DiscordServer, drawer: Drawer, noted: list[str]) -> AsyncIterator[Opens]:
    """Connects the bot that signed in some day before, and closes with the test."""
    opened: list[DiscordAccount] = []

    async def find(control: str) -> str:
        assert control == CONTROL
        return discord.address

    async def make(*, live: bool = True, clock: Clock | None = None) -> DiscordAccount:
        opener = discord_opener(clock or SystemClock(), live=live, find_loopback=find)
        client = await opener(account(), drawer, noted.append)
        assert isinstance(client, DiscordAccount)
        opened.append(client)
        return client

    yield make
    for client in opened:
        await client.close()


async def next_hint(client: DiscordAccount, wanted: Callable[[UpdateHint], bool] = lambda _: True) -> UpdateHint:
    """The next hint that is wanted, however long the platform takes to say it."""
    async with asyncio.timeout(PATIENCE):
        while True:
            [hint] = await client.hints(most=1)
            if wanted(hint):
                return hint
