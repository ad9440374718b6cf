"""Two accounts see the same private chat: however often the worker is killed, each store equals its own box.

Invariants: page-and-progress-together, live-never-closes-a-gap.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import MirrorOptions
from tidegate.core.account import Account
from tidegate.core.clock import SystemClock
from tidegate.core.ids import ChannelId, UserId
from tidegate.demo.telegram_account import HOURLY, Stage, make_stage
from tidegate.loopback.counting_world import World
from tidegate.loopback.telegram import World as TelegramWorld
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.private_chats import peer_of
from tidegate.platforms.telegram.chats.chat_numbers import ChatNumbers

KILLS = int(os.environ.get("KILLS", "10"))  # KILLS=50 ./dev test tests/stories/… for a longer try
ADA, BOB = "+1000001", "+1000002"
OLD = 230


@dataclass
class Town:
    """Two accounts that a worker serves, with a chat of both, a group of both, and a chat of the first alone."""

    stage: Stage
    telegram: TelegramWorld
    accounts: dict[int, Account]
    dice: random.Random

    @property
    def views(self) -> list[Channel]:
        return list(self.telegram.chats.views.values())

    def number(self, view: Channel) -> ChannelId:
        """Tidegate's number of an account's view."""
        number = ChatNumbers(self.accounts[view.owner].id, UserId(view.owner)).of(peer_of(view))
        assert number is not None
        return number

    def happen(self) -> None:
        """Somebody writes, edits and deletes in every chat, as often as not in the same breath."""
        talks = {view.talk: view for view in self.views}
        for view in talks.values():
            for _ in range(self.dice.randint(1, 4)):
                self.telegram.post(view, f"posted {self.dice.random()}", sender=self.dice.choice(list(self.accounts)))
            written = [number for number, message in view.messages.items() if not message.is_service]
            for number in self.dice.sample(written[-40:], 3):
                self.telegram.edit(view, number, text=f"edited {self.dice.random()}")
            self.telegram.delete(view, self.dice.sample(written[-60:], 2))

    async def stored(self, view: Channel) -> dict[int, str]:
        rows = await self.stage.world.database.pool.fetch(
            "SELECT m.id, m.text FROM messages m JOIN channels c ON c.id = m.channel "
            "WHERE c.number = $1 AND m.deleted_at IS NULL",
            self.number(view),
        )
        return {row["id"]: row["text"] for row in rows}

    async def enable(self) -> None:
        for account in self.accounts.values():
            await self.stage.ask("sync", account=account)
        async with self.stage.world.database.transaction() as connection:
            for view in self.views:
                kept = await channels.find(connection, str(self.number(view)))
                await channels.enable(connection, kept, MirrorOptions())


@pytest.fixture
async def town(world: World) -> AsyncIterator[Town]:
    dice = random.Random(seed := random.randrange(2**32))
    print(f"random seed {seed}")  # shown when the test fails
    telegram = TelegramWorld(SystemClock(), seed=5)
    ada, bob = telegram.add_account(ADA, "Ada"), telegram.add_account(BOB, "Bob")
    chat = telegram.add_private_chat(ada, bob)
    alone = telegram.add_private_chat(ada, telegram.add_person("Zoe"))
    group, _ = telegram.add_group("Family", [ada, bob])
    for number in range(OLD):
        telegram.post(chat, f"old {number}", sender=dice.choice([ada.id, bob.id]))
        if number % 3 == 0:
            telegram.post(alone, f"alone {number}")
            telegram.post(group, f"group {number}", sender=bob.id)
    async with make_stage(world, telegram, name="ada", phone=ADA) as stage:
        served = {ada.id: stage.account, bob.id: await stage.join("bob", BOB)}
        yield Town(stage, telegram, served, dice)


async def test_every_box_is_stored_whole(town: Town) -> None:
    """Message for message in all five views, each under its own numbers; nothing is doubled, and no gap is left."""
    world, dice = town.stage.world, town.dice
    town.stage.start_worker("first")
    await town.enable()
    for life in ["first", *(f"life-{number}" for number in range(1, KILLS))]:
        if life != "first":
            world.start_worker(life, cycle_every=HOURLY)
            wanted = town.stage.counted().total() + dice.randint(1, 8)
            await world.until("the worker is at work", lambda wanted=wanted: town.stage.counted().total() >= wanted)
        town.happen()
        await asyncio.sleep(dice.uniform(0, 0.3))  # when the blow falls
        world.strike(life, signal.SIGKILL)
        await asyncio.to_thread(world.workers[life].join)
        town.happen()
    world.start_worker("last", cycle_every=HOURLY)

    async def equal() -> bool:
        return all(
            [await town.stored(view) == {one.id: one.text for one in view.messages.values()} for view in town.views]
        )

    await world.until("every store equals its box", equal)
    rows = await world.database.pool.fetch(
        "SELECT c.number, h.spans::text AS spans FROM coverage h JOIN channels c ON c.id = h.channel "
        "WHERE h.kind = 'messages'"
    )
    spans = {row["number"]: row["spans"] for row in rows}
    assert all(spans[town.number(view)].count("[") == 1 for view in town.views)
    assert len(spans) == len(town.views) == 5
