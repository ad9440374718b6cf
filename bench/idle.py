"""A guild of 500 channels and 200 threads costs no call when nothing happened, and one for each channel that changed.

Calls of one cycle, without those for connecting, by the platform's own record: where the gateway told the heads, and
where they are asked for by REST. Twenty channels get three messages each before the changed ones.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from bench._database_server import own_database
from bench._discord import Bot, Loopback, bot, loopback_discord
from tidegate.core.clock import SystemClock
from tidegate.cycles.cycle import CyclePolicy
from tidegate.cycles.guild_cycle import run_guild_cycle
from tidegate.database.pool import Database
from tidegate.history.history_pages import HistoryPolicy

CHANNELS, THREADS, CHANGED = 500, 200, 20
POLICY = CyclePolicy(history=HistoryPolicy(concurrency=8, reconcile_calls=0))
NAIVE = CHANNELS + THREADS
"""What a look at each channel costs, before anything is read."""


async def run() -> dict[str, Any]:
    """One guild, mirrored once, and then cycle after cycle."""
    world = {"guilds": [{"name": "Large", "channels": CHANNELS, "messages": 20, "threads": THREADS}]}
    async with (
        own_database(connections=10) as database,
        loopback_discord(world) as loopback,
        bot(database, loopback) as reader,
    ):
        await reader.connect(live=False)
        await _cycle(database, reader, loopback)
        idle = await _cycle(database, reader, loopback)
        changed = await _changed(database, reader, loopback)
        await reader.connect(live=True)
        told_idle = await _cycle(database, reader, loopback)
        await reader.connect(live=False)  # deaf while they post
        _post(loopback)
        await reader.connect(live=True)
        told_changed = await _cycle(database, reader, loopback)
    return {
        "channels": CHANNELS,
        "threads": THREADS,
        "look_at_each": NAIVE,
        "rest_20_changed": changed,
        "gateway_20_changed": told_changed,
        "rest_idle": idle,
        "gateway_idle": told_idle,
    }


async def _changed(database: Database, reader: Bot, loopback: Loopback) -> int:
    _post(loopback)
    return await _cycle(database, reader, loopback)


def _post(loopback: Loopback) -> None:
    for number in list(loopback.channels.values())[:CHANGED]:
        loopback.tell("/discord/post", {"channel": str(number), "text": "news", "count": 3})


async def _cycle(database: Database, reader: Bot, loopback: Loopback) -> int:
    """How many calls one cycle takes; ledger and platform have to agree."""
    before = Counter(loopback.ask("/calls?by=method"))
    report = await run_guild_cycle(reader.lane, database, SystemClock(), POLICY, heads=reader.lane.known_heads)
    spent = Counter(loopback.ask("/calls?by=method")) - before
    counted = Counter(report.calls)
    assert {method: spent[method] for method in counted} == counted, "the ledger and the platform count differently"
    assert not report.troubles, report.troubles
    return counted.total()
