"""History is read several times faster than by discord.py's own history(), and as fast as limits allow where they bind.

Two worlds of 50,000 messages on a loopback Discord whose answers take 20 ms: one channel, and twenty. ``naive`` is what
people do: the unmodified library's ``history()``, and one INSERT a message. Once without limits, and once with limits
that bind on a slow machine too: ten calls a second in each channel's bucket, and ten for the account by its own
setting. ``share_of_limit`` is how much of that brought messages.
"""

from __future__ import annotations

import time
from typing import Any

import discord
from discord.http import Route

from bench._database_server import own_database
from bench._discord import PAGES, Loopback, bot, loopback_discord
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.cycles.guild_cycle import look_around
from tidegate.database.pool import Database
from tidegate.history.backfill import backfill
from tidegate.history.history_pages import HistoryPolicy
from tidegate.history.queries import channel_histories
from tidegate.history.rules.backfill_plan import PortionBudget
from tidegate.lanes import ReadLimits
from tidegate.scans.rules.call_plan import CallLimits
from tidegate.scans.scan_context import ScanContext

LATENCY_MS = 20
PER_SECOND = 10
MESSAGES = 50_000
WORLDS = {"one channel": (1, 50_000), "twenty channels": (20, 2_500)}
LIMITS = {"scale": 1, "routes": {PAGES: [PER_SECOND, 1]}}
SAMPLE = 5_000
"""How many messages the naive way reads: its pace does not change with more."""

POLICY = HistoryPolicy(budget=PortionBudget(), concurrency=4, target=MESSAGES, reconcile_calls=0)


async def run() -> dict[str, Any]:
    """Each world without and with limits."""
    return {
        "rows": [
            await _row(name, channels, messages, limited=limited)
            for limited in (False, True)
            for name, (channels, messages) in WORLDS.items()
        ]
    }


async def _row(name: str, channels: int, messages: int, *, limited: bool) -> dict[str, Any]:
    listed = [{"name": f"c{number}", "messages": messages, "every_s": 60} for number in range(channels)]
    world = {"guilds": [{"name": "Harbour", "channels": listed}], "limits": LIMITS if limited else {"scale": 0}}
    async with own_database(connections=10) as database, loopback_discord(world, latency_ms=LATENCY_MS) as loopback:
        naive = await _naive(database, loopback)
        calls, seconds = await _tidegate(database, loopback, limited=limited)
    needed = sum(-(-messages // 100) + (messages % 100 == 0) for _ in range(channels))
    return {
        "world": name,
        "limits": f"{PER_SECOND} calls a second" if limited else "none",
        "naive_per_s": round(naive),
        "tidegate_per_s": round(MESSAGES / seconds),
        "ratio": round(MESSAGES / seconds / naive, 1),
        "share_of_limit": round(needed / seconds / PER_SECOND, 2) if limited else None,
        "calls": calls,
        "pages_needed": needed,
    }


async def _tidegate(database: Database, loopback: Loopback, *, limited: bool) -> tuple[int, float]:
    """Read all histories; the calls and the seconds that took, all rows being there at the end."""
    reads = ReadLimits(per_second=float(PER_SECOND) if limited else None, at_once=10)
    async with bot(database, loopback, reads=reads) as reader:
        await reader.connect(live=True)
        context = ScanContext(reader.lane, database, None, CallLimits(), RetryPolicy())
        await look_around(context)
        async with database.connection() as connection:
            found = await channel_histories.of_reader(connection, reader.lane.account.id)
        before, began = loopback.calls(), time.perf_counter()
        done = await backfill(context, POLICY, found)
        seconds, calls = time.perf_counter() - began, loopback.calls() - before
    stored = await database.pool.fetchval("SELECT count(*) FROM messages")
    assert (done.as_json()["failed"], stored) == (0, MESSAGES), (stored, done.as_json()["failed"])
    return calls, seconds


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
