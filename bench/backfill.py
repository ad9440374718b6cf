"""History is read several times faster than by discord.py's own history(), and as fast as limits allow where they bind.

Two worlds of 50,000 messages on a loopback Discord whose answers take 20 ms: one channel, and twenty. ``naive`` is what
people do: the unmodified library's ``history()``, and one INSERT a message. Once without limits, and once with limits
that bind on a slow machine too: ten calls a second in each channel's bucket, and ten for the account by its own
setting. ``share_of_limit`` is how much of that brought messages.

Then with the product's defaults. A hundred channels under limits such as Discord's, five calls in five seconds each and
fifty a second for the bot: ``share_of_lane_limit`` is how much of the lane's own rate brought messages, and
``rate_limited`` counts the calls that Discord refused. And few channels without limits, near and far.
``cpu_ms_a_page`` is the processor time of this process.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import discord
from discord.http import Route

from bench._database_server import own_database
from bench._discord import PAGES, UNPACED, Loopback, bot, loopback_discord
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.cycles.guild_cycle import look_around
from tidegate.database.pool import Database
from tidegate.history.backfill import backfill
from tidegate.history.history_pages import HistoryPolicy
from tidegate.history.queries import channel_histories
from tidegate.history.rules.backfill_plan import PortionBudget
from tidegate.lanes import ReadLimits
from tidegate.platforms.discord import DISCORD
from tidegate.scans.rules.call_bounds import CallLimits
from tidegate.scans.scan_context import ScanContext

PER_SECOND = 10
LIMITS = {"scale": 1, "routes": {PAGES: [PER_SECOND, 1]}}
SAMPLE = 5_000
"""How many messages the naive way reads at most: its pace does not change with more."""

PER_ACCOUNT = DISCORD.reads_per_second
"""The lane's own rate by default."""


@dataclass(frozen=True)
class World:
    """What is read, how far away it is, and by what limits of Discord's and of the account's own."""

    channels: int
    messages: int
    latency_ms: int = 20
    limits: str = "none"
    platform: dict[str, Any] = field(default_factory=lambda: {"scale": 0})
    reads: ReadLimits = UNPACED

    @property
    def name(self) -> str:
        many = "one channel" if self.channels == 1 else f"{self.channels} channels"
        return f"{many} of {self.messages:,}, {self.latency_ms} ms"

    @property
    def in_all(self) -> int:
        return self.channels * self.messages

    @property
    def pages_needed(self) -> int:
        return self.channels * (-(-self.messages // 100) + (self.messages % 100 == 0))


BY_DEFAULT = ReadLimits(per_second=PER_ACCOUNT, at_once=DISCORD.reads_at_once)
SET_RATE = {
    "limits": f"{PER_SECOND} calls a second",
    "platform": LIMITS,
    "reads": ReadLimits(per_second=float(PER_SECOND), at_once=10),
}
FREE = [World(1, 50_000), World(20, 2_500)]
LIMITED = [World(1, 50_000, **SET_RATE), World(20, 2_500, **SET_RATE)]
LIKE_DISCORD = World(
    100, 990, limits="5 calls in 5 s per channel, 50 a second", platform={"scale": 1}, reads=BY_DEFAULT
)
DEFAULTS = [
    LIKE_DISCORD,
    *(
        World(channels, 4_000 // channels, latency, reads=BY_DEFAULT)
        for latency in (20, 100)
        for channels in (1, 4, 16)
    ),
]


async def run() -> dict[str, Any]:
    """Without limits and with a set rate, and then with the product's defaults."""
    ours = HistoryPolicy(budget=PortionBudget(), target=50_000, reconcile_calls=0)
    rows = [await _row(world, ours, defaults=False) for world in (*FREE, *LIMITED)]
    return {"rows": rows + [await _row(world, HistoryPolicy(), defaults=True) for world in DEFAULTS]}


async def _row(world: World, policy: HistoryPolicy, *, defaults: bool) -> dict[str, Any]:
    listed = [{"name": f"c{number}", "messages": world.messages, "every_s": 60} for number in range(world.channels)]
    made = {"guilds": [{"name": "Harbour", "channels": listed}], "limits": world.platform}
    async with (
        own_database(connections=10) as database,
        loopback_discord(made, latency_ms=world.latency_ms) as loopback,
    ):
        naive = None if world is LIKE_DISCORD else await _naive(database, loopback)
        ours = await _tidegate(database, loopback, world, policy)
    rate = world.pages_needed / ours.seconds
    return {
        "world": world.name,
        "limits": world.limits,
        "defaults": defaults,
        "naive_per_s": None if naive is None else round(naive),
        "tidegate_per_s": round(world.in_all / ours.seconds),
        "ratio": None if naive is None else round(world.in_all / ours.seconds / naive, 2),
        "share_of_limit": round(rate / PER_SECOND, 2) if world in LIMITED else None,
        "share_of_lane_limit": round(rate / PER_ACCOUNT, 2) if world is LIKE_DISCORD else None,
        "rate_limited": ours.rate_limited,
        "calls": ours.calls,
        "pages_needed": world.pages_needed,
        "cpu_ms_a_page": round(1000 * ours.processor / world.pages_needed, 1),
    }


@dataclass(frozen=True)
class Read:
    """What reading all histories took; *processor* are seconds of this process alone."""

    calls: int
    seconds: float
    processor: float
    rate_limited: int


async def _tidegate(database: Database, loopback: Loopback, world: World, policy: HistoryPolicy) -> Read:
    """Read all histories, all rows being there at the end."""
    async with bot(database, loopback, reads=world.reads) as reader:
        await reader.connect(live=True)
        context = ScanContext(reader.lane, database, None, CallLimits(), RetryPolicy())
        await look_around(context)
        async with database.connection() as connection:
            found = await channel_histories.of_reader(connection, reader.lane.account.id)
        before, began, worked = loopback.calls(), time.perf_counter(), time.process_time()
        done = await backfill(context, policy, found)
        seconds, worked = time.perf_counter() - began, time.process_time() - worked
        calls = loopback.calls() - before
        await reader.lane.write_ledger()
    stored = await database.pool.fetchval("SELECT count(*) FROM messages")
    assert (done.as_json()["failed"], stored) == (0, world.in_all), (stored, done.as_json()["failed"])
    refused = await database.pool.fetchval("SELECT count(*) FROM calls WHERE outcome = 'asked_to_wait'")
    return Read(calls, seconds, worked, refused)


async def _naive(database: Database, loopback: Loopback) -> float:
    """Messages a second by the library's own history(), each stored by a statement of its own."""
    await database.pool.execute("CREATE TABLE naive (id bigint PRIMARY KEY, channel bigint, author text, content text)")
    Route.BASE = loopback.address + "/api/v10"
    client = discord.Client(intents=discord.Intents.default())
    await client.login(loopback.token)
    read, began = 0, time.perf_counter()
    try:
        for number in loopback.channels.values():
            channel = await client.fetch_channel(number)
            async for message in channel.history(limit=SAMPLE - read):  # type: ignore[union-attr]
                await database.pool.execute(
                    "INSERT INTO naive VALUES ($1, $2, $3, $4)",
                    message.id, number, message.author.name, message.content,
                )  # fmt: skip
                read += 1
            if read >= SAMPLE:
                break
        return read / (time.perf_counter() - began)
    finally:
        await client.close()
