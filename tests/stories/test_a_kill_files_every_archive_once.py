"""However often the worker is killed, every archive reaches its destination once, whole and in order.

Invariant: claim-before-send.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256

import pytest

from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import MirrorOptions
from tidegate.core.clock import SystemClock
from tidegate.demo.telegram_account import Stage, make_stage
from tidegate.loopback.counting_world import World
from tidegate.loopback.telegram import World as TelegramWorld

KILLS = int(os.environ.get("KILLS", "10"))  # KILLS=50 ./dev test tests/stories/… for a longer try
SETS, BATCHES = 40, 4
PHONE = "+10000000001"
OPEN, SHUT, VAULT = "Open", "Shut", "Vault"
BLOWS = ("upload.getFile", "upload.saveFilePart", "messages.sendMedia")
"""The calls around which a worker is killed: while it reads, hands over, or posts."""

STYLES = (  # the names of a set's parts in the order of its content, which is not always that of the names
    ("{}.zip.001", "{}.zip.002", "{}.zip.003"),
    ("{}.7z.001", "{}.7z.002"),
    ("{}.rar.001", "{}.rar.002"),
    ("{}.part1.rar", "{}.part2.rar", "{}.part3.rar"),
    ("{}.rar", "{}.r00", "{}.r01"),
    ("{}.z01", "{}.z02", "{}.zip"),
    ("{}.001", "{}.002"),
    ("{}.7z",),
    ("{}.tar.gz",),
    ("{}.pdf",),
)


@dataclass
class Sets:
    """What somebody posts: each set's parts, by name and digest, in the order of its content."""

    platform: TelegramWorld
    dice: random.Random
    posted: list[list[tuple[str, str]]] = field(default_factory=list)

    def post(self, count: int) -> None:
        """Post so many sets more, half of them where nothing can be copied, their parts in any order."""
        for _ in range(count):
            number = len(self.posted)
            names = [name.format(f"set-{number:02}") for name in STYLES[number % len(STYLES)]]
            size = self.dice.choice([1_000, 700_000, 2_500_000])
            blobs = [self.dice.randbytes(size) for _ in names[:-1]] + [self.dice.randbytes(size - 300)]
            self.posted.append([(name, sha256(blob).hexdigest()) for name, blob in zip(names, blobs, strict=True)])
            channel = self.platform.channel(OPEN if number // len(STYLES) % 2 else SHUT)
            for name, blob in self.dice.sample(list(zip(names, blobs, strict=True)), len(names)):
                self.platform.post(channel, file=self.platform.add_content(name, blob))


@pytest.fixture
async def stage(world: World) -> AsyncIterator[Stage]:
    """Two sources and a destination. Cycles come every second, so the platform need not push."""
    platform = TelegramWorld(SystemClock(), seed=5)
    platform.add_account(PHONE, "Ada")
    for title in (OPEN, SHUT, VAULT):
        platform.add_channel(title).pushes = False
    platform.channel(SHUT).protected = True
    async with make_stage(world, platform, name="ada", phone=PHONE) as made:
        made.telegram.latency = timedelta(milliseconds=5)
        yield made


def start_worker(stage: Stage, name: str) -> None:
    stage.world.start_worker(
        name,
        cycle_every=timedelta(seconds=1),
        cycle_every_live=timedelta(seconds=1),
        max_send_per_minute=6_000,
        telegram_chat_sends_per_minute=6_000,
    )


async def enable(stage: Stage) -> None:
    await stage.ask("sync")
    async with stage.world.database.transaction() as connection:
        vault = await channels.find(connection, VAULT)
        for title in (OPEN, SHUT):
            await channels.enable(
                connection, await channels.find(connection, title), MirrorOptions(destination=vault.key)
            )


async def pass_hours(stage: Stage) -> None:
    """Sets whose end no name tells have rested long enough now, and no scan is too fresh for another."""
    await stage.world.database.pool.execute("UPDATE archive_parts SET seen_at = seen_at - interval '2 hours'")
    await stage.pass_time(timedelta(hours=2))


async def filed(stage: Stage) -> int:
    number: int = await stage.world.database.pool.fetchval("SELECT count(*) FROM archives WHERE state = 'filed'")
    return number


async def kill_in_mid_work(stage: Stage, name: str, sets: Sets) -> None:
    """Wait until the worker makes one of the calls that move something, and strike a moment later.

    Where nothing is left to be filed another set is posted, or there would be no such call.
    """
    dice = sets.dice
    method = dice.choice(BLOWS)
    before = stage.counted()

    async def at_work() -> bool:
        if await filed(stage) == len(sets.posted):
            sets.post(1)
        await pass_hours(stage)
        now = stage.counted() - before
        return now[method] > 0 or sum(now[blow] for blow in BLOWS) > 20

    await stage.world.until(f"{name} works on archives", at_work)
    await asyncio.sleep(dice.uniform(0, 0.05))  # when the blow falls
    stage.world.strike(name, signal.SIGKILL)
    await asyncio.to_thread(stage.world.workers[name].join)


@pytest.mark.story
async def test_every_archive_is_filed_once(stage: Stage) -> None:
    """S-51, S-53, S-55, S-56: by the platform's own record the destination holds each set of every naming style
    exactly once, byte for byte, its parts in order; nothing failed, and nothing lies about."""
    seed = random.randrange(2**32)
    print(f"random seed {seed}")  # shown when the test fails
    dice = random.Random(seed)
    sets = Sets(stage.telegram.world, dice)
    start_worker(stage, "life-0")
    await enable(stage)
    for life in range(KILLS):
        if len(sets.posted) < SETS and life % max(1, KILLS // BATCHES) == 0:
            sets.post(SETS // BATCHES)
        await kill_in_mid_work(stage, f"life-{life}", sets)
        start_worker(stage, f"life-{life + 1}")
    sets.post(max(0, SETS - len(sets.posted)))

    async def all_filed() -> bool:
        await pass_hours(stage)
        return await filed(stage) == len(sets.posted)

    await stage.world.until("every set filed", all_filed)
    held = [
        (message.file.name, message.file.sha256())
        for _, message in sorted(stage.telegram.world.channel(VAULT).messages.items())
        if message.file
    ]
    assert sorted(held) == sorted(part for parts in sets.posted for part in parts)
    for parts in sets.posted:
        places = [held.index(part) for part in parts]
        assert places == sorted(places), parts  # hours may pass between two pages of a scan that was killed
    assert len(stage.telegram.world.record.sends) == len(held)
    assert await stage.world.database.pool.fetch("SELECT * FROM failures") == []
    assert [path for path in (stage.world.home / "work").rglob("*") if path.is_file()] == []
