"""Both platforms with every kind of message, and an account on each that a worker serves."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.stories.every_kind.actors import Actor, DiscordActor, TelegramActor
from tests.stories.every_kind.discord_facts import discord_facts
from tests.stories.every_kind.stored_facts import Facts, stored_rows
from tests.stories.every_kind.telegram_facts import telegram_facts
from tidegate.accounts.queries import accounts
from tidegate.app.account_setup import join, new_account
from tidegate.app.composition import Runtime
from tidegate.app.settings import Settings
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import MirrorOptions
from tidegate.core.account import Account, Standing
from tidegate.core.clock import SystemClock
from tidegate.core.platform import Platform
from tidegate.demo.telegram_account import Operator, ask_worker
from tidegate.loopback.control_server import serving
from tidegate.loopback.counting_world import World
from tidegate.loopback.discord.world.kinds import KINDS
from tidegate.loopback.platform_set import Platforms
from tidegate.loopback.telegram.world.content.message_kinds import kind_names
from tidegate.loopback.world_document import WorldSpec, make_worlds
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.telegram import TELEGRAM

PHONE, NEWS, GENERAL = "+10000000001", "News", "general"
WORLD = WorldSpec.model_validate(
    {
        "seed": 16,
        "telegram": {
            "accounts": [{"phone": PHONE, "name": "Ada"}],
            "channels": [{"title": NEWS, "kind": "channel", "messages": 5, "kinds": True}],
        },
        "discord": {"guilds": [{"name": "Harbour", "channels": [{"name": GENERAL, "messages": 5, "kinds": True}]}]},
    }
)
OPENS_THREADS = ("thread_started", "thread_created")
"""Kinds that are not posted again: each thread costs a worker calls of its own, which other stories count."""


@dataclass
class Harbour:
    """Both platforms with every kind of message, and an account on each that a worker serves."""

    world: World
    platforms: Platforms
    telegram: Actor
    discord: Actor
    accounts: dict[str, Account]

    def calls(self) -> int:
        return sum(sum(record.by_method().values()) for record in self.platforms.records.values())

    async def rows(self, actor: Actor) -> dict[int, Any]:
        return await stored_rows(self.world.database, await self.number(actor))

    async def number(self, actor: Actor) -> int:
        world = self.platforms.telegram.world if actor is self.telegram else self.platforms.discord.world
        return int(world.channel(actor.channel).id)

    async def facts(self, actor: Actor) -> dict[int, tuple[Facts, Any]]:
        """Every message by the platform's own word: its fields, and all that it sent."""
        rows = await actor.truth()
        if actor is self.discord:
            return {row["id"]: (discord_facts(row), row["raw"]) for row in rows}
        people = {one["id"]: one for one in (await actor.asking.get("/telegram/people")).json()}
        return {row["id"]: (telegram_facts(row, people, NEWS), row["raw"]) for row in rows}


@pytest.fixture
async def harbour(world: World) -> AsyncIterator[Harbour]:
    clock, dice = SystemClock(), random.Random(seed := random.randrange(2**32))
    print(f"random seed {seed}")  # shown when the test fails
    platforms = Platforms.of(make_worlds(WORLD, clock), clock)
    async with (
        serving(platforms, world.platform, world.at) as control,
        httpx.AsyncClient(base_url=control, timeout=60) as asking,
    ):
        served = {platform.name: await joined(world, platforms, control, platform) for platform in (TELEGRAM, DISCORD)}
        posts = [kind for kind in KINDS if kind not in OPENS_THREADS]
        yield Harbour(
            world,
            platforms,
            TelegramActor(asking, dice, "telegram", NEWS, kind_names()),
            DiscordActor(asking, dice, "discord", GENERAL, posts),
            served,
        )
        world.end_workers()


async def joined(world: World, platforms: Platforms, control: str, platform: Platform) -> Account:
    new = new_account(platform.name, platform, Standing.NORMAL, control)
    await join(Runtime(Settings(home=world.home), world.database), new, Operator(platforms, PHONE))
    async with world.database.connection() as connection:
        return (await accounts.find(connection, platform.name)).account


async def enable(harbour: Harbour) -> None:
    """Mirror the Telegram channel in full; those of Discord are mirrored by default."""
    database = harbour.world.database
    await ask_worker(database, harbour.accounts["telegram"], "sync")
    async with database.transaction() as connection:
        await channels.enable(connection, await channels.find(connection, NEWS), MirrorOptions(in_full=True))


async def settled(harbour: Harbour) -> None:
    """Until every message is there, the last one too, so that nothing is on its way any more.

    Of old messages that were edited or deleted while no worker ran, Discord tells nothing; reconcile finds them.
    """
    for actor in (harbour.telegram, harbour.discord):
        await actor.tell("post", text="the last word")

        async def all_there(actor: Actor = actor) -> bool:
            return {row["id"] for row in await actor.truth()} <= (await harbour.rows(actor)).keys()

        await harbour.world.until(f"all messages of {actor.platform} are stored", all_there)
