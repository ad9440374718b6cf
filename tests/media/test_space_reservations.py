"""The limit for all files holds over all workers, and for files of which nobody knows the size."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.media.fetching_scene import MediaScene
from tests.scenes.telegram_mirror import Mirror, make_mirror
from tests.waiting import until
from tidegate.core.ids import WorkerNumber
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.media.queries import space_reservations
from tidegate.media.rules.media_policy import MediaRule
from tidegate.workers.queries import workers
from tidegate.workers.rules.missing_worker import WorkerEnding

MIB = 1 << 20
READ = "upload.getFile"


@pytest.fixture
async def scene(mirror: Mirror, world: World, tmp_path: Path) -> MediaScene:
    """A channel that is mirrored in full."""
    channel = world.add_channel("News")
    channel.members = {number for number, account in world.accounts.items() if account.name == "Ada"}
    await mirror.sync()
    await mirror.enable(channel, in_full=True)
    return MediaScene(mirror, channel, tmp_path / "media")


@pytest.fixture
async def beside(scene: MediaScene, tmp_path: Path) -> AsyncIterator[MediaScene]:
    """Another account with a channel of its own, whose files go to the same store, as another worker has it."""
    channel = scene.world.add_channel("Gazette")
    channel.members = {number for number, account in scene.world.accounts.items() if account.name == "Bob"}
    mirror = scene.mirror
    second = await make_mirror(mirror.database, mirror.telegram, mirror.call_log, "second", "+1000002")
    await second.sync()
    await second.enable(channel, in_full=True)
    yield MediaScene(second, channel, tmp_path / "media")
    assert second.lane is not None
    await second.lane.close()


async def stored(scene: MediaScene) -> int:
    async with scene.mirror.database.connection() as connection:
        return (await space_reservations.taken(connection)).stored


async def test_two_workers_keep_the_limit_together(scene: MediaScene, beside: MediaScene) -> None:
    """What one fetches counts for the other before it is stored; when its account is taken over it counts no more."""
    await scene.limit(100_000)
    await scene.mirrored(scene.world.add_file("a.bin", 60_000))
    await beside.mirrored(scene.world.add_file("b.bin", 60_000))
    scene.world.faults.add(Fault(FaultKind.TIMEOUT, READ))
    fetching = asyncio.create_task(scene.fetch())
    await until(lambda: scene.world.record.by_method()[READ] == 1)
    result = await beside.fetch()
    assert (result.kept, result.paused is not None and "--total-limit" in result.paused) == (0, True)
    fetching.cancel()
    await asyncio.wait([fetching])
    assert (await beside.fetch()).kept == 0, "its worker may still be at it"
    await scene.mirror.rows("UPDATE accounts SET epoch = epoch + 1 WHERE id = $1", scene.mirror.account.id)
    assert (await beside.fetch()).kept == 1
    assert await stored(scene) == 60_000


async def test_the_room_of_a_dead_worker_is_free(scene: MediaScene, beside: MediaScene) -> None:
    """Its account waits for an owner, and what it fetched never comes."""
    await scene.limit(100_000)
    await beside.mirrored(scene.world.add_file("b.bin", 60_000))
    who = workers.WorkerIdentity("dead", "dead", "host", "1", "0", 10, timedelta(hours=1))
    async with scene.mirror.database.transaction() as connection:
        await workers.register(connection, WorkerNumber(99), who)
        await workers.end(connection, WorkerNumber(99), WorkerEnding.DIED)
    await scene.mirror.rows("UPDATE accounts SET owner = 99 WHERE id = $1", scene.mirror.account.id)
    async with scene.mirror.database.transaction() as connection:
        await space_reservations.reserve(connection, scene.mirror.account.id, 90_000)
    assert (await beside.fetch()).kept == 1


async def test_many_files_of_two_workers_never_pass_the_limit(scene: MediaScene, beside: MediaScene) -> None:
    """Both fetch at the same moment, several files at once, of which nobody told the size."""
    await scene.limit(500_000)
    for one in (scene, beside):
        await one.mirrored(*(scene.world.add_file("a.bin", 60_000) for _ in range(12)))
    await scene.mirror.rows("UPDATE media_files SET expected = 0")
    first, second = await asyncio.gather(scene.fetch(), beside.fetch())
    assert first.kept + second.kept == 500_000 // 60_000
    assert await stored(scene) <= 500_000
    assert await scene.mirror.rows("SELECT FROM media_room") == []


async def test_a_file_of_unknown_size_is_counted_while_it_arrives(scene: MediaScene) -> None:
    """It is cut off at the limit, costs no second download while it waits, and is fetched when there is room."""
    await scene.limit(8 * MIB)
    await scene.mirrored(scene.world.add_file("b.bin", 6 * MIB), scene.world.add_file("a.bin", 4 * MIB))
    await scene.mirror.rows("UPDATE media_files SET expected = 0 WHERE size > $1", 5 * MIB)
    account = scene.account()
    result = await account.run()
    assert (result.kept, result.paused is not None) == (1, True)
    assert scene.world.record.by_method()[READ] == (4 + 1) + 5, "the fifth of b.bin does not fit"
    assert await stored(scene) == 4 * MIB
    async with scene.mirror.counted() as calls:
        assert (await account.run()).paused is not None
    assert calls[READ] == 0
    assert [path for path in (scene.folder / "partial").iterdir() if path.name.endswith(".unknown")] == []
    await scene.limit(20 * MIB)
    assert (await account.run()).kept == 1
    assert await stored(scene) == 10 * MIB


async def test_a_file_of_unknown_size_that_never_fits_is_skipped(scene: MediaScene) -> None:
    """Alone it is larger than the limit for all files, which only its bytes tell."""
    await scene.limit(2 * MIB)
    await scene.mirrored(scene.world.add_file("a.bin", 5 * MIB))
    await scene.mirror.rows("UPDATE media_files SET expected = 0")
    assert (await scene.fetch()).skipped == 1
    assert [reason for _, reason in (await scene.states()).values()] == ["total_limit"]


async def test_the_limit_of_a_channel_holds_for_unknown_sizes(scene: MediaScene) -> None:
    """Each file that does not fit says so."""
    await scene.mirrored(*(scene.world.add_file("a.bin", 60_000) for _ in range(5)))
    await scene.mirror.rows("UPDATE media_files SET expected = 0")
    await scene.allow(MediaRule(whole_limit=130_000))
    assert (await scene.fetch()).kept == 2
    reasons = [reason for state, reason in (await scene.states()).values() if state == "skipped"]
    assert reasons == ["channel_limit"] * 3
