"""However often the worker is killed, every file is kept once, byte for byte, and nothing else lies in the store.

Of files that were in work when it was killed, parts are read again; of others none.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.stories.every_kind.harbour import Harbour, enable, harbour, settled
from tidegate.archives.filing.work_folder import WorkFolder
from tidegate.database.pool import Address, Database
from tidegate.demo.telegram_account import HOURLY
from tidegate.loopback.counting_world import World, make_world
from tidegate.media import store_maintenance
from tidegate.media.file_fetcher import AT_ONCE, MediaSetup
from tidegate.media.local_store import LocalStore

__all__ = ["harbour"]  # a fixture

KILLS = int(os.environ.get("KILLS", "10"))  # KILLS=50 ./dev test tests/stories/… for a longer try
READS = ("upload.getFile", "GET file")
ALLOWED = ("fleeting", "protected", "size", "thumbnail", "no_thumbnail")
"""Why a file of these worlds may not be kept; all else is kept."""


@pytest.fixture
async def world(address: Address, database: Database, tmp_path: Path) -> AsyncIterator[World]:
    """A world with a data folder of its own: other stories keep files as well."""
    async with make_world(address, database, tmp_path / "home") as world:
        yield world


def reads(harbour: Harbour) -> int:
    return sum(record.by_method()[read] for record in harbour.platforms.records.values() for read in READS)


async def files(harbour: Harbour) -> dict[tuple[str, int], Any]:
    rows = await harbour.world.database.pool.fetch("SELECT * FROM media_files")
    return {(row["platform"], row["file"]): row for row in rows}


async def waiting(harbour: Harbour) -> int:
    rows = await files(harbour)
    return sum(row["state"] == "wanted" or row["next_try_at"] is not None for row in rows.values())


async def post_files(harbour: Harbour) -> None:
    """Somebody posts some messages with files, a large one among them, and some of any kind."""
    dice = harbour.telegram.dice
    size = dice.choice([1_000, 1 << 20, 3_500_000])
    await harbour.telegram.tell("post", files=[{"name": f"{dice.random()}.bin", "size": size}])
    await harbour.discord.tell("post", files=[{"name": f"{dice.random()}.bin", "size": min(size, 1_500_000)}])
    for actor in (harbour.telegram, harbour.discord):
        for _ in range(3):
            await actor.tell("post", kind=dice.choice(actor.kinds))


async def kill_in_mid_work(harbour: Harbour, life: str) -> None:
    """Strike while the worker reads files, or a moment later."""
    before, dice = reads(harbour), harbour.telegram.dice
    wanted = before + dice.randint(1, 6)

    async def at_work() -> bool:
        return reads(harbour) >= wanted or (reads(harbour) > before and not await waiting(harbour))

    await harbour.world.until(f"{life} fetches files", at_work)
    await asyncio.sleep(dice.uniform(0, 0.1))  # when the blow falls
    harbour.world.strike(life, signal.SIGKILL)
    await asyncio.to_thread(harbour.world.workers[life].join)


@pytest.mark.story
async def test_every_file_equals_the_truth_after_every_kill(harbour: Harbour) -> None:
    """Every file that the platforms' truth names is kept with its digest, or says why not; no orphan stays."""
    world = harbour.world
    world.start_worker("life-0", cycle_every=HOURLY)
    await enable(harbour)
    for life in range(KILLS):
        await post_files(harbour)
        await kill_in_mid_work(harbour, f"life-{life}")
        await post_files(harbour)
        world.start_worker(f"life-{life + 1}", cycle_every=HOURLY)
    await settled(harbour)

    async def all_fetched() -> bool:
        return not await waiting(harbour)

    await world.until("all files are fetched", all_fetched)
    await compare(harbour)
    store = LocalStore(world.home / "media")
    setup = MediaSetup(store, WorkFolder(world.home / "media" / "partial", what="Files"))
    await store_maintenance.sweep(world.database, setup, grace=timedelta(seconds=-5))
    report = await store_maintenance.verify(world.database, store, repair=False)
    assert (report.is_sound, report.orphans) == (True, 0)
    assert [one.name for one in setup.work.path.iterdir()] == []
    kept = {row["sha256"] for row in (await files(harbour)).values() if row["sha256"] or row["thumbnail"]}
    assert report.checked >= len(kept - {None})
    for platform, record in harbour.platforms.records.items():
        again = {name: most - 1 for name, most in most_sent(record.pieces).items() if most > 1}
        assert sum(again.values()) <= KILLS * AT_ONCE, f"{platform}: more is read twice than was interrupted: {again}"


def most_sent(pieces: Counter[tuple[str, int]]) -> Counter[str]:
    """How often the platform sent the piece of each file that it sent most often."""
    return Counter({name: max(times for (one, _), times in pieces.items() if one == name) for name, _ in pieces})


async def compare(harbour: Harbour) -> None:
    """What is kept, with what the platforms say of every file of every message."""
    stored = await files(harbour)
    wrong: dict[tuple[str, int], Any] = {}
    seen = 0
    for actor in (harbour.telegram, harbour.discord):
        for message in await actor.truth():
            for file in message["files"]:
                row = stored.get((actor.platform, int(file["id"])))
                seen += 1
                if row is None:
                    wrong[actor.platform, int(file["id"])] = (message["id"], "no row", file)
                elif row["state"] != "kept" and row["reason"] not in ALLOWED:
                    wrong[actor.platform, int(file["id"])] = (message["id"], row["state"], row["reason"])
                elif row["state"] == "kept" and row["sha256"].hex() != file["sha256"]:
                    wrong[actor.platform, int(file["id"])] = (message["id"], "other bytes", row["sha256"].hex())
    assert wrong == {}
    assert seen > 40
    others = {(row["state"], row["reason"]) for row in stored.values() if row["state"] not in ("kept", "skipped")}
    assert others == set()
