"""However often the worker is killed in mid-backfill, the store equals the platform's truth in the end.

Invariant: page-and-progress-together.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from tidegate.accounts.queries import accounts
from tidegate.accounts.queries.secrets import AccountVault, open_ring
from tidegate.core.account import Standing
from tidegate.core.clock import SystemClock
from tidegate.demo.telegram_account import HOURLY
from tidegate.loopback.control_server import serving
from tidegate.loopback.counting_world import World
from tidegate.loopback.discord import DiscordServer
from tidegate.loopback.discord import World as DiscordWorld
from tidegate.loopback.discord.world.history import Made
from tidegate.loopback.discord.world.places import Channel
from tidegate.loopback.discord.world.world import BEGINS
from tidegate.loopback.platform_set import Platforms
from tidegate.loopback.world_document import SMALL_WORLD, make_worlds
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.discord.connector import SIGN_IN

KILLS = int(os.environ.get("KILLS", "10"))  # KILLS=50 ./dev test tests/stories/… for a longer try
MESSAGES, AT_ONCE = 800 * KILLS, 3
PAGES = "GET /channels/{channel.id}/messages"


@pytest.fixture
async def discord(world: World) -> AsyncIterator[DiscordServer]:
    """A guild with one large channel, and a bot that is signed in to it; a worker that starts will mirror it."""
    clock = SystemClock()
    platform = DiscordWorld(clock, seed=3)
    bot = platform.add_bot("gate")
    made = platform.add_channel(platform.add_guild("The harbour"), "general")
    people = tuple(platform.people)
    made.history.made = Made.until(BEGINS, MESSAGES, timedelta(minutes=3), low=5, title="general", authors=people)
    platform.post(made, "the newest")
    telegram, _, whatsapp = make_worlds(SMALL_WORLD, clock)
    platforms = Platforms.of((telegram, (platform, 0), whatsapp), clock, latency=timedelta(milliseconds=30))
    async with serving(platforms, world.platform, world.at) as control:
        async with world.database.transaction() as connection:
            await accounts.add(connection, "gate", DISCORD, Standing.NORMAL, loopback=control)
            account = (await accounts.find(connection, "gate")).account
        vault = AccountVault(world.database, await open_ring(world.database, world.home, None), account.id)
        await vault.write(SIGN_IN, platform.token(bot).encode())
        yield platforms.discord
        world.end_workers()


def pages(discord: DiscordServer) -> int:
    return discord.world.record.by_method()[PAGES]


def happen(discord: DiscordServer, channel: Channel, dice: random.Random) -> None:
    """Somebody posts, edits and deletes among the newest messages."""
    for number in range(5):
        discord.world.post(channel, f"posted {number}")
    newest = sorted(message.id for message in channel.history)[-60:]
    edited, deleted = dice.sample(newest, 4), dice.sample(newest, 2)
    for number in edited:
        discord.world.edit(channel, number, text=f"edited {dice.random()}")
    discord.world.delete(channel, deleted, bulk=False)


async def stored(world: World, channel: Channel) -> dict[int, str]:
    rows = await world.database.pool.fetch(
        "SELECT m.id, m.text FROM messages m JOIN channels c ON c.id = m.channel "
        "WHERE c.number = $1 AND m.deleted_at IS NULL",
        channel.id,
    )
    return {row["id"]: row["text"] for row in rows}


async def test_the_store_equals_the_truth_after_every_kill(world: World, discord: DiscordServer) -> None:
    """H-17, H-18, H-19: message for message, and no page is fetched twice but those in flight when a blow fell."""
    seed = random.randrange(2**32)
    print(f"random seed {seed}")  # shown when the test fails
    dice = random.Random(seed)
    [channel] = [one for one in discord.world.channels.values() if one.name == "general"]
    for life in range(KILLS):
        before = pages(discord)
        world.start_worker(f"life-{life}", cycle_every=HOURLY)
        wanted = before + dice.randint(1, 5)
        await world.until("pages are read", lambda wanted=wanted: pages(discord) >= wanted)
        happen(discord, channel, dice)
        await asyncio.sleep(dice.uniform(0, 0.05))  # when the blow falls
        world.strike(f"life-{life}", signal.SIGKILL)
        await asyncio.to_thread(world.workers[f"life-{life}"].join)
        happen(discord, channel, dice)
    world.start_worker("last", cycle_every=HOURLY)

    async def equal() -> bool:
        return await stored(world, channel) == {message.id: message.text for message in channel.history}

    await world.until("the store equals the truth", equal)
    spans = await world.database.pool.fetchval("SELECT spans::text FROM coverage WHERE kind = 'messages'")
    assert spans == f"{{[0,{channel.head + 1})}}"
    downwards = Counter(call.query for call in discord.world.record.calls if "before=" in call.query)
    assert sum(count - 1 for count in downwards.values()) <= KILLS * AT_ONCE
