"""Files are fetched at least 3 times as fast as by Telethon's download_media, and as fast as by a plain aiohttp loop.

2,000 files of 200 kB and 4 of 50 MB, once in a channel of a loopback Telegram and once in one of a loopback Discord.
Both are in a process of their own, and every call takes 50 ms. Tidegate fetches them with its default limits into a
folder, with a row and a checked digest for each. Only the largest size that the policy keeps is raised, for the large
ones. The baselines are what people write: one file after the other, to a file, without a row. They fetch a sample, and
their time for all is computed from it. ``memory_growth_mb`` is how much the process grew while files were fetched.
"""

from __future__ import annotations

import asyncio
import resource
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from telethon import TelegramClient

from bench._database_server import own_database
from bench._loopback_accounts import Town, TownPerson, town_of
from bench._telethon_client import telethon_client
from tidegate.app.account_setup import SignedIn
from tidegate.archives.filing.work_folder import WorkFolder
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import MirrorOptions
from tidegate.core.clock import SystemClock
from tidegate.core.task_groups import beside
from tidegate.cycles.guild_cycle import look_around
from tidegate.database.pool import Database
from tidegate.history.backfill import backfill
from tidegate.history.history_pages import HistoryPolicy
from tidegate.history.queries import channel_histories
from tidegate.history.rules.backfill_plan import PortionBudget
from tidegate.lanes import Lane
from tidegate.lanes.queries.calls import CallLog
from tidegate.loopback.owned_account import add_account, open_lane
from tidegate.media.file_fetcher import AccountMedia, MediaSetup
from tidegate.media.local_store import LocalStore
from tidegate.media.queries import media_rules
from tidegate.media.rules.media_policy import MediaRule
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.discord.connector import SIGN_IN, discord_opener
from tidegate.platforms.interface import SignInAttempt
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.telegram.account_sign_in import sign_in
from tidegate.platforms.telegram.connector import ask_control, telegram_opener
from tidegate.scans.channel_catalogue import sync_channels
from tidegate.scans.rules.call_bounds import CallLimits
from tidegate.scans.scan_context import ScanContext

LATENCY_MS = 50
MIB, MB = 1 << 20, 1_000_000
SMALL, LARGE = 200_000, 50 * MB
FILES = {SMALL: 2_000, LARGE: 4}
SAMPLE = {SMALL: 60, LARGE: 1}
PHONES = ("+10000001", "+10000002")
CHANNEL = "pictures"
READS = {TELEGRAM: "upload.getFile", DISCORD: "GET file"}
POLICY = HistoryPolicy(budget=PortionBudget(), concurrency=4, target=10_000, reconcile_calls=0)
WORLD = {
    "seed": 7,
    "telegram": {"accounts": [{"phone": phone} for phone in PHONES], "channels": [{"title": CHANNEL}]},
    "discord": {"guilds": [{"name": "Harbour", "channels": [{"name": CHANNEL}]}], "limits": {"scale": 0}},
}


async def run() -> dict[str, Any]:
    """Both platforms, each with its baseline."""
    async with town_of(WORLD, latency_ms=LATENCY_MS) as town:
        for platform in ("telegram", "discord"):
            await _post(town, platform)
        telegram = await _fetched(town, _telegram_lane)
        media = await _download_media(town)
        discord = await _fetched(town, _discord_lane)
        plain = await _aiohttp(town)
    return {
        "mb_per_s": telegram.mb_per_s,
        "ratio_to_download_media": round(telegram.mb_per_s / media, 1),
        "calls_per_mib": telegram.calls_per_mib,
        "peak_memory_mb": max(telegram.peak_mb, discord.peak_mb),
        "memory_growth_mb": max(telegram.growth_mb, discord.growth_mb),
        "download_media_mb_per_s": round(media, 1),
        "cdn_mb_per_s": discord.mb_per_s,
        "ratio_to_aiohttp": round(discord.mb_per_s / plain, 1),
        "cdn_calls_per_mib": discord.calls_per_mib,
        "aiohttp_mb_per_s": round(plain, 1),
    }


# Tidegate


@dataclass(frozen=True)
class Fetched:
    """How fast all files were fetched, and what that took."""

    mb_per_s: float
    calls_per_mib: float
    peak_mb: float
    growth_mb: float


OpenLane = Callable[[Database, Town, CallLog], Awaitable[Lane]]


async def _telegram_lane(database: Database, town: Town, ledger: CallLog) -> Lane:
    account, vault = await add_account(database, "ada", TELEGRAM, at=town.control), SignedIn()
    note = ledger.connecting(account.id)
    await sign_in(SignInAttempt(account, vault, note), TownPerson(town, PHONES[0]))
    client = await telegram_opener(None, SystemClock())(account, vault, note)
    return await open_lane(account, client, ledger, database)


async def _discord_lane(database: Database, town: Town, ledger: CallLog) -> Lane:
    token = (await town.ask("/discord/token"))["token"]
    account, vault = await add_account(database, "gate", DISCORD, at=town.control), SignedIn({SIGN_IN: token.encode()})
    client = await discord_opener(SystemClock())(account, vault, ledger.connecting(account.id))
    return await open_lane(account, client, ledger, database)


async def _fetched(town: Town, open_one: OpenLane) -> Fetched:
    """Mirror the messages, then fetch their files; only the latter is measured."""
    async with own_database(connections=10) as database:
        ledger = CallLog(database, SystemClock())
        lane = await open_one(database, town, ledger)
        try:
            await _mirror(database, lane)
            with tempfile.TemporaryDirectory(prefix="tg-bench-media-") as folder:
                return await _measured(database, lane, town, Path(folder))
        finally:
            await lane.close()
            await ledger.close()


async def _mirror(database: Database, lane: Lane) -> None:
    """Store every message of the channel, with the handles of its files."""
    context = ScanContext(lane, database, None, CallLimits(), RetryPolicy())
    if lane.has_guilds:
        await look_around(context)
    else:
        await sync_channels(lane, database)
    async with database.transaction() as connection:
        await media_rules.set_rule(connection, MediaRule(largest=2 * LARGE))
        await channels.enable(connection, await channels.find(connection, CHANNEL), MirrorOptions(in_full=True))
        found = await channel_histories.of_reader(connection, lane.account.id)
    await backfill(context, POLICY, found)


async def _measured(database: Database, lane: Lane, town: Town, folder: Path) -> Fetched:
    method = READS[lane.account.platform]
    before = (await town.ask("/calls?by=method")).get(method, 0)
    setup = MediaSetup(LocalStore(folder), WorkFolder(folder / "partial", host="bench", what="Files"))
    fetching = AccountMedia(lane, database, SystemClock(), setup)
    async with _memory() as memory:
        began = time.perf_counter()
        result = await fetching.run()
        seconds = time.perf_counter() - began
    calls = (await town.ask("/calls?by=method"))[method] - before
    assert (result.kept, result.failed) == (sum(FILES.values()), 0), result
    started = sum(count * -(-size // MIB) for size, count in FILES.items())
    return Fetched(
        round(_bytes(FILES) / MB / seconds, 1), round(calls / started, 3),
        round(max(memory) / MB, 1), round((max(memory) - memory[0]) / MB, 1),
    )  # fmt: skip


@asynccontextmanager
async def _memory() -> AsyncIterator[list[int]]:
    """The memory of this process, a few times a second for the duration of the block."""
    seen = [_resident()]

    async def watch() -> None:
        while True:
            await asyncio.sleep(0.1)
            seen.append(_resident())

    async with beside(watch()):
        yield seen


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


# The baselines


async def _download_media(town: Town) -> float:
    """MB a second by the unmodified library's own download_media, one message after the other."""
    async with _plain_client(town) as client:
        entity = next(one.entity for one in await client.get_dialogs() if one.name == CHANNEL)
        found: dict[int, list[Any]] = {size: [] for size in FILES}
        async for message in client.iter_messages(entity):
            if message.file is not None:
                found[message.file.size].append(message)

        async def fetch(message: Any, path: Path) -> None:
            await client.download_media(message, file=str(path))

        return await _one_by_one(found, fetch)


async def _aiohttp(town: Town) -> float:
    """MB a second by one GET after the other, each streamed to a file."""
    shown = await town.ask(f"/truth/discord/{CHANNEL}")
    files = [file for message in shown for file in message["raw"]["attachments"]]
    found = {size: [file["url"] for file in files if file["size"] == size] for size in FILES}
    async with aiohttp.ClientSession() as session:

        async def fetch(address: str, path: Path) -> None:
            async with session.get(address) as answer:
                answer.raise_for_status()
                with path.open("wb") as file:
                    async for piece in answer.content.iter_chunked(1 << 16):
                        file.write(piece)

        return await _one_by_one(found, fetch)


async def _one_by_one(found: dict[int, list[Any]], fetch: Callable[[Any, Path], Awaitable[None]]) -> float:
    """Fetch a sample of each size; MB a second for all files of the world."""
    seconds = 0.0
    with tempfile.TemporaryDirectory(prefix="tg-bench-media-") as folder:
        for size, sample in SAMPLE.items():
            began = time.perf_counter()
            for number, one in enumerate(found[size][:sample]):
                path = Path(folder) / f"{size} {number}"
                await fetch(one, path)
                assert path.stat().st_size == size
            seconds += (time.perf_counter() - began) / sample * FILES[size]
    return _bytes(FILES) / MB / seconds


@asynccontextmanager
async def _plain_client(town: Town) -> AsyncIterator[TelegramClient]:
    told = await ask_control(town.control)

    async def code() -> str:
        return await TownPerson(town, PHONES[1]).code("", again="")

    async with telethon_client(told.address, told.public_key, PHONES[1], code) as client:
        yield client


def _bytes(files: dict[int, int]) -> int:
    return sum(size * count for size, count in files.items())


async def _post(town: Town, platform: str) -> None:
    """Post all files, a message each."""
    for size, count in FILES.items():
        for first in range(0, count, 500):
            names = [{"name": f"{size}-{n}.bin", "size": size} for n in range(first, min(first + 500, count))]
            if platform == "telegram":
                await town.tell("/telegram/post", {"channel": CHANNEL, "files": names})
            else:
                for one in names:
                    await town.tell("/discord/post", {"channel": CHANNEL, "files": [one]})
