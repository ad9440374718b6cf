"""Cycles and sends take as many calls and as long while files are fetched beside them as without files.

Each row does the same twice, alone and *beside* files of the same account that arrive all the while. Calls are the
platform's own count, without those for files: ``file_calls`` says how many of these came in between. The minutes of a
fan-out are held time, over a line with a round trip of 100 ms. Cold places' turns are switched off.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

from bench._database_server import own_database
from bench._discord import bot, loopback_discord
from bench._reminder_delivery import PHONE, far_telegram, shop_on
from bench._telegram import connected_reader, loopback_telegram
from tidegate.archives.filing.work_folder import WorkFolder
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import MirrorOptions
from tidegate.core.clock import Clock, SystemClock
from tidegate.cycles.cycle import CyclePolicy, run_cycle
from tidegate.cycles.guild_cycle import run_guild_cycle
from tidegate.database.pool import Database
from tidegate.history.history_pages import HistoryPolicy
from tidegate.lanes import Lane
from tidegate.loopback.telegram import World
from tidegate.media.file_fetcher import AccountMedia, MediaSetup
from tidegate.media.local_store import LocalStore
from tidegate.scans.rules.scan_decision import ScanPolicy

IDLE = 20
TOPICS, ACTIVE = 200, 50
CHANNELS, CHANGED = 100, 20
GROUPS, PACE = 200, 40
FILES, SIZE = 2_000, 200_000
PICTURES = "pictures"
POLICY = CyclePolicy(
    scans=ScanPolicy(cold_after_empty_scans=1_000_000), history=HistoryPolicy(concurrency=8, reconcile_calls=0)
)
READS = ("upload.getFile", "GET file")

Counts = Callable[[], Counter[str]]
Work = Callable[[], Awaitable[object]]


async def run() -> dict[str, Any]:
    """A cycle of each platform when nothing happened and with news, and a fan-out."""
    rows = [*await _telegram(), *await _discord(), await _fan_out()]
    assert all(row["file_calls"] for row in rows), rows
    return {"rows": rows}


# Files beside


@asynccontextmanager
async def _fetching(lane: Lane, database: Database, clock: Clock) -> AsyncIterator[None]:
    """Files of the account are fetched in the block, the first ones before it."""
    with tempfile.TemporaryDirectory(prefix="tg-bench-beside-") as folder:
        work = WorkFolder(Path(folder) / "partial", host="bench", what="Files")
        media = AccountMedia(lane, database, clock, MediaSetup(LocalStore(Path(folder) / "kept"), work))
        await media.run(most=1)
        task = asyncio.create_task(media.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])


async def _calls(what: str, counts: Counts, work: Work, *, times: int = 1) -> dict[str, Any]:
    """How many calls some work takes, and how many calls for files came in between."""
    before = counts()
    for _ in range(times):
        await work()
    spent = counts() - before
    files = sum(spent.pop(method, 0) for method in READS)
    return {"what": what, "calls": spent.total(), "file_calls": files}


def _compared(alone: list[dict[str, Any]], beside: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"what": one["what"], "alone": one["calls"], "beside": two["calls"], "file_calls": two["file_calls"]}
        for one, two in zip(alone, beside, strict=True)
    ]


# Cycles


async def _telegram() -> list[dict[str, Any]]:
    async with (
        own_database(connections=10) as database,
        loopback_telegram(PHONE) as server,
        connected_reader(database, server, "ada", PHONE) as reader,
    ):
        world, counts = server.world, server.world.record.by_method
        forum = world.add_channel("Models", forum=True)
        topics = [world.add_topic(forum, f"Topic {number}").id for number in range(1, TOPICS)]
        _post_pictures(world)
        await reader.enable(forum)
        await _mirror_pictures(database)
        for _ in range(3):
            await reader.cycle(POLICY)

        async def cycle() -> None:
            await database.pool.execute("UPDATE places SET last_scanned_at = last_scanned_at - interval '1 hour'")
            await reader.cycle(POLICY)

        async def cycles() -> list[dict[str, Any]]:
            idle = await _calls(f"Telegram, {IDLE} cycles, nothing happened", counts, cycle, times=IDLE)
            for topic in topics[:ACTIVE]:
                world.post(forum, file=world.add_file("castle.zip", 1_000), topic=topic)
            return [idle, await _calls(f"Telegram, {ACTIVE} topics with news", counts, cycle)]

        alone = await cycles()
        async with _fetching(reader.lane, database, SystemClock()):
            return _compared(alone, await cycles())


def _post_pictures(world: World) -> None:
    pictures = world.add_channel(PICTURES)
    pictures.pushes = False
    for _ in range(FILES):
        world.post(pictures, file=world.add_file("low tide.bin", SIZE))


async def _mirror_pictures(database: Database) -> None:
    async with database.transaction() as connection:
        await channels.enable(connection, await channels.find(connection, PICTURES), MirrorOptions(in_full=True))


async def _discord() -> list[dict[str, Any]]:
    made = {"guilds": [{"name": "Large", "channels": CHANNELS, "messages": 20}]}
    async with (
        own_database(connections=10) as database,
        loopback_discord(made) as loopback,
        bot(database, loopback) as reader,
    ):
        pictures, *others = list(loopback.channels.values())
        files = [{"name": f"{number}.bin", "size": SIZE} for number in range(10)]
        for _ in range(FILES // 10):
            loopback.tell("/discord/post", {"channel": str(pictures), "files": files})
        await reader.connect(live=False)

        def counts() -> Counter[str]:
            return Counter(loopback.ask("/calls?by=method"))

        async def cycle() -> None:
            await run_guild_cycle(reader.lane, database, SystemClock(), POLICY, heads=reader.lane.known_heads)

        async def cycles() -> list[dict[str, Any]]:
            idle = await _calls(f"Discord, {IDLE} cycles, nothing happened", counts, cycle, times=IDLE)
            for number in others[:CHANGED]:
                loopback.tell("/discord/post", {"channel": str(number), "text": "news", "count": 3})
            return [idle, await _calls(f"Discord, {CHANGED} channels with news", counts, cycle)]

        await cycle()
        alone = await cycles()
        async with _fetching(reader.lane, database, SystemClock()):
            return _compared(alone, await cycles())


# Sends


async def _fan_out() -> dict[str, Any]:
    alone, _ = await _minutes(files=False)
    beside, calls = await _minutes(files=True)
    return {"what": f"{GROUPS} groups, minutes", "alone": alone, "beside": beside, "file_calls": calls}


async def _minutes(*, files: bool) -> tuple[float, int]:
    """How long a fan-out takes, and how many calls for files came in between."""
    async with own_database(connections=10) as database, far_telegram(database, groups=GROUPS) as (server, clock):
        _post_pictures(server.world)
        async with shop_on(database, server, clock, per_minute=PACE) as shop:
            await _mirror_pictures(database)
            for _ in range(3):
                await shop.after(run_cycle(shop.lane, database, clock, POLICY))
            await shop.save([{"text": "Good morning {group}"}], {})
            beside = _fetching(shop.lane, database, clock) if files else nullcontext()
            async with beside, shop.served() as deliveries:
                began = clock.now()
                await shop.fire(deliveries)
                await shop.deliver()
        record = server.world.record
    return round((record.sends[-1].at - began).total_seconds() / 60, 2), record.by_method()[READS[0]]
