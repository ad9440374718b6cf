"""The tour's Telegram part: the real client on a loopback Telegram, counted by that platform itself."""

from __future__ import annotations

import asyncio
import io
import signal
import zipfile
from collections.abc import AsyncIterator, Iterable
from datetime import timedelta
from functools import partial
from random import Random

from tidegate.archives.formats.archive_bytes import BLOCK
from tidegate.core.clock import SystemClock
from tidegate.demo.telegram_account import HOURLY, Stage, make_stage
from tidegate.demo.tour_check import Promise, at_most
from tidegate.loopback.counting_world import World
from tidegate.loopback.telegram import World as TelegramWorld
from tidegate.loopback.telegram.world.zips import small_zip, sparse_zip
from tidegate.search.queries import ranked_hits
from tidegate.search.rules.query_language import read_query

TOPICS = 1_086
FORUM, HALL = "Models", "Hall"
PHONE = "+10000000001"
SETS, KILLS = 12, 3
ENTRIES, ENTRY_SIZE = 2_048, 1 << 20
RESTED = timedelta(minutes=5)


async def telegram_tour(world: World) -> AsyncIterator[Promise]:
    """Try every promise about Telegram; yields each as soon as it is measured. *world* has no other account."""
    platform = _platform()
    async with make_stage(world, platform, name="ada", phone=PHONE) as stage:
        stage.start_worker("first")
        await stage.enable(FORUM, HALL)
        for _ in range(3):  # until the counters of both are stored
            await stage.ask("cycle")
            await stage.pass_time(HOURLY)
        for trial in (_idle, _five_active, _fifty_active, _restart, _search_inside, _kill):
            yield await trial(stage)


def _platform() -> TelegramWorld:
    """A forum of a thousand topics and a channel. Like large groups they send no push updates."""
    platform = TelegramWorld(SystemClock(), seed=3)
    platform.add_account(PHONE, "Ada")
    forum = platform.add_channel(FORUM, forum=True)
    for number in range(1, TOPICS):  # General is one of them
        platform.add_topic(forum, f"Topic {number}")
    for channel in (forum, platform.add_channel(HALL)):
        channel.pushes = False
    return platform


# What a cycle costs


async def _idle(stage: Stage) -> Promise:
    calls = await _calls_of_a_cycle(stage)
    return at_most(f"Telegram: a forum of {TOPICS:,} topics with nothing new", calls, 1, "call")


async def _five_active(stage: Stage) -> Promise:
    calls, found = await _active(stage, 5)
    promise = "Telegram: 5 active topics, and each of their 10 files found"
    return at_most(promise, calls, 2, "calls", only_if=found)


async def _fifty_active(stage: Stage) -> Promise:
    calls, found = await _active(stage, 50)
    promise = "Telegram: 50 active topics, and each of their 100 files found"
    return at_most(promise, calls, 3, "calls", only_if=found)


async def _active(stage: Stage, topics: int) -> tuple[int, bool]:
    """Post a text and two files in a number of topics; returns the calls of the next cycle, and whether it found each
    file."""
    platform = stage.telegram.world
    forum = platform.channel(FORUM)
    posted: set[tuple[int, int]] = set()
    for topic in sorted(forum.topics)[1 : topics + 1]:
        platform.post(forum, "look at this", topic=topic)
        for letter in "ab":
            file = platform.add_file(f"{letter}{topic}-{forum.newest_id}.pdf", 1_000)
            posted.add((platform.post(forum, file=file, topic=topic).id, topic))
    calls = await _calls_of_a_cycle(stage)
    rows = await stage.world.database.pool.fetch(
        "SELECT p.message, a.topic FROM archive_parts p JOIN archives a ON a.id = p.archive "
        "JOIN channels c ON c.id = a.channel WHERE c.number = $1",
        forum.id,
    )
    await stage.pass_time(HOURLY)
    return calls, posted <= {(row["message"], row["topic"]) for row in rows}


async def _calls_of_a_cycle(stage: Stage) -> int:
    before = stage.counted()
    await stage.ask("cycle")
    return (stage.counted() - before).total()


async def _restart(stage: Stage) -> Promise:
    """End the worker, start another: its first cycle, by the platform's count less what connecting takes."""
    await _end(stage, "first", signal.SIGTERM)
    await stage.pass_time(RESTED)
    before, done = stage.counted(), len(await stage.cycles())
    stage.start_worker("second")

    async def cycled() -> bool:
        return len(await stage.cycles()) > done

    await stage.world.until("a cycle of the new worker", cycled)
    calls = (stage.counted() - before).total() - (await stage.cycles())[-1]["connect_calls"]
    return at_most("Telegram: a restart five minutes after a clean cycle, besides connecting", calls, 1, "call")


# What is inside, and what a crash loses


async def _search_inside(stage: Stage) -> Promise:
    """List a zip of 2 GiB without downloading it, and find a file by name; returns the bytes fetched."""
    platform = stage.telegram.world
    size, pieces = sparse_zip([(f"castle/stone_{number:04}.stl", ENTRY_SIZE) for number in range(ENTRIES)])
    platform.post(platform.channel(HALL), file=platform.add_file("castle.zip", size, pieces=pieces))
    before = stage.counted()["upload.getFile"]
    await stage.ask("cycle")
    fetched = (stage.counted()["upload.getFile"] - before) * BLOCK / 1024
    async with stage.world.database.connection() as connection:
        query = read_query("stone_1234", lambda moment: moment.astimezone())
        found = (await ranked_hits.search(connection, query, most=5)).found
    named = [one.text for one in found if one.kind == "file"]
    promise = f"Telegram: a file found by its name inside a zip of {size >> 20:,} MiB"
    return at_most(promise, fetched, 1024, "KiB fetched", only_if=named == ["castle/stone_1234.stl"])


async def _kill(stage: Stage) -> Promise:
    """Kill the worker in mid-work again and again; sets that are not filed exactly once, with all that is inside."""
    await _end(stage, "second", signal.SIGTERM)
    posted: dict[str, list[str]] = {}
    for life in range(KILLS):
        posted |= _post_sets(stage.telegram.world, range(life, SETS, KILLS))
        enough = stage.counted()["upload.getFile"] + 2
        stage.start_worker(f"life-{life}")
        await stage.world.until("work on archives", partial(_has_read, stage, enough))
        await _end(stage, f"life-{life}", signal.SIGKILL)
    stage.start_worker("last")

    async def all_filed() -> bool:
        return posted.keys() <= (await _filed(stage)).keys()

    await stage.world.until("every set filed", all_filed)
    filed = await _filed(stage)
    wrong = sum(filed[name] != [inside] for name, inside in posted.items())
    promise = f"Telegram: lost or taken in twice, of {SETS} archives, by a worker killed {KILLS} times in mid-work"
    return at_most(promise, wrong, 0, "archives")


def _has_read(stage: Stage, enough: int) -> bool:
    return stage.counted()["upload.getFile"] >= enough


async def _end(stage: Stage, worker: str, how: signal.Signals) -> None:
    stage.world.strike(worker, how)
    await asyncio.to_thread(stage.world.workers[worker].join)


def _post_sets(platform: TelegramWorld, numbers: Iterable[int]) -> dict[str, list[str]]:
    """Post zips with these numbers; what is inside each, as the platform itself holds it."""
    posted = {}
    for number in numbers:
        content = small_zip(Random(platform.seed + number))  # noqa: S311 - a world, not a secret
        platform.post(platform.channel(HALL), file=platform.add_content(f"set-{number:02}.zip", content))
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            posted[f"set-{number:02}.zip"] = archive.namelist()
    return posted


async def _filed(stage: Stage) -> dict[str, list[list[str]]]:
    """What Tidegate has filed: for each name what is inside, once for every archive of that name."""
    rows = await stage.world.database.pool.fetch(
        "SELECT a.name, array_agg(i.path ORDER BY i.number) AS inside FROM archives a "
        "JOIN archive_contents i ON i.archive = a.id WHERE a.state = 'filed' GROUP BY a.id, a.name"
    )
    filed: dict[str, list[list[str]]] = {}
    for row in rows:
        filed.setdefault(row["name"], []).append(row["inside"])
    return filed
