"""A loopback Discord inside the test's own process; a conftest imports these fixtures."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tidegate.core.clock import SystemClock
from tidegate.loopback.discord import DiscordServer, World
from tidegate.loopback.discord.world.places import Bot, Guild


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
