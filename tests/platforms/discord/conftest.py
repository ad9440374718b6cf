"""A loopback Discord inside the test's own process, and the adapter connected to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.platforms.discord.people import CONTROL, account
from tests.platforms.drawer import Drawer
from tidegate.clock import Clock, SystemClock
from tidegate.loopback.discord import DiscordServer, World
from tidegate.loopback.discord.places import Bot, Channel, Guild
from tidegate.platforms.discord import discord_opener
from tidegate.platforms.discord.client import DiscordAccount
from tidegate.platforms.discord.opening import SIGN_IN
from tidegate.port import Hint

Opens = Callable[..., Awaitable[DiscordAccount]]


@pytest.fixture
async def discord(clock: SystemClock) -> AsyncIterator[DiscordServer]:
    """A running platform with one bot; a method it does not know fails the test."""
    world = World(clock, seed=7)
    world.add_bot("gate")
    running = DiscordServer(world, clock)
    await running.start()
    yield running
    await running.close()
    assert world.record.unknown == []


@pytest.fixture
def world(discord: DiscordServer) -> World:
    return discord.world


@pytest.fixture
def bot(world: World) -> Bot:
    return next(iter(world.bots.values()))


@pytest.fixture
def guild(world: World) -> Guild:
    return world.add_guild("The harbour")


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


async def next_hint(client: DiscordAccount, wanted: Callable[[Hint], bool] = lambda _: True) -> Hint:
    """The next hint that is wanted, however long the platform takes to say it."""
    async with asyncio.timeout(20):
        while not wanted(hint := await client.hint()):
            pass
    return hint
