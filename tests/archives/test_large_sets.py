"""A large set holds up nobody: neither other channels' sets nor small ones of its own, and it stops when unwanted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from tests.archives.filing_scene import Scene
from tests.scenes.telegram_mirror import Mirror
from tests.waiting import PATIENCE, until
from tidegate.archives.filing.queues import FilingLoop
from tidegate.archives.queries import filing_queue
from tidegate.channels.queries import channels
from tidegate.core.clock import SystemClock
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import TelegramServer, World
from tidegate.loopback.telegram.world.channels import Channel

MIB = 1024 * 1024
SMALL = 1 * MIB
LARGE = 24 * MIB
SLOW, STUCK = timedelta(milliseconds=100), timedelta(minutes=1)
"""What a call takes where somebody has to do something while a large file is on its way, and while they do it."""


class PlatformClock(SystemClock):
    """A call that got stuck goes on as soon as the platform is no longer stuck, and not a minute later."""

    def __init__(self, telegram: TelegramServer) -> None:
        self._telegram = telegram

    async def sleep(self, span: timedelta) -> None:
        if span < STUCK:
            await super().sleep(span)
        else:
            await until(lambda: self._telegram.latency < STUCK)


@pytest.fixture
async def scene(mirror: Mirror, world: World, tmp_path: Path) -> Scene:
    """A channel whose archives are hashed; sets above one mebibyte count as large."""
    world.clock = PlatformClock(mirror.telegram)
    source, vault = world.add_channel("Models"), world.add_channel("Vault")
    await mirror.sync()
    await mirror.enable(source, hashed=True)
    return Scene(mirror, source, vault, tmp_path / "work", small_at_most=SMALL)


async def another(scene: Scene, title: str) -> Channel:
    """One more channel whose archives are hashed."""
    made = scene.world.add_channel(title)
    await scene.mirror.sync()
    await scene.mirror.enable(made, hashed=True)
    return made


async def filed(scene: Scene) -> list[str]:
    """The names of the sets that were filed, in the order of their events."""
    rows = await scene.mirror.rows("SELECT subject FROM events WHERE kind = 'archive.filed' ORDER BY id")
    return [row["subject"] for row in rows]


async def names_filed(scene: Scene, *names: str) -> bool:
    return await filed(scene) == list(names)


async def digests(scene: Scene) -> list[bytes | None]:
    return [row["sha256"] for row in await scene.mirror.rows("SELECT sha256 FROM archive_parts ORDER BY archive")]


def fetched(scene: Scene, before: int = 0) -> int:
    return scene.world.record.by_method()["upload.getFile"] - before


@asynccontextmanager
async def filing_slowly(scene: Scene, blocks: int) -> AsyncIterator[asyncio.Task[object]]:
    """A turn on a slow platform, of which some blocks have arrived when the body begins; it ends by itself."""
    before = fetched(scene)
    scene.mirror.telegram.latency = SLOW
    turn: asyncio.Task[object] = asyncio.create_task(scene.file())

    await until(lambda: turn.done() or fetched(scene, before) >= blocks)
    assert not turn.done()
    scene.mirror.telegram.latency = STUCK
    yield turn
    async with asyncio.timeout(PATIENCE):
        await turn
    scene.mirror.telegram.latency = timedelta()


# Holding up nobody


async def test_a_large_set_holds_up_no_other_channel(scene: Scene) -> None:
    """It was found first; what another channel has is filed before it ends."""
    other = await another(scene, "Other")
    scene.world.post(scene.source, file=scene.world.add_file("huge.pdf", LARGE))
    await scene.find()
    scene.world.post(other, file=scene.world.add_file("little.pdf", 1_000))
    await scene.find()
    scene.mirror.telegram.latency = SLOW
    await scene.file()
    assert await filed(scene) == ["little.pdf", "huge.pdf"]


async def test_a_large_set_holds_up_no_small_one_of_its_channel(scene: Scene) -> None:
    """Three small sets found later in the same channel are filed first."""
    await scene.found(scene.world.add_file("huge.pdf", LARGE))
    await scene.found(*[scene.world.add_file(f"{number}.pdf", 1_000 + number) for number in range(3)])
    scene.mirror.telegram.latency = SLOW
    await scene.file()
    assert await filed(scene) == ["0.pdf", "1.pdf", "2.pdf", "huge.pdf"]


async def test_large_sets_of_two_channels_share_the_way(scene: Scene) -> None:
    """The shorter of two large sets does not wait until the longer is through."""
    other = await another(scene, "Other")
    await scene.found(scene.world.add_file("huge.pdf", LARGE))
    scene.world.post(other, file=scene.world.add_file("large.pdf", 3 * MIB))
    await scene.find()
    scene.mirror.telegram.latency = SLOW
    await scene.file()
    assert await filed(scene) == ["large.pdf", "huge.pdf"]


async def test_large_sets_of_one_channel_come_one_by_one(scene: Scene) -> None:
    """Two at once would only take turns, and hold twice the room on the disk."""
    await scene.found(*[scene.world.add_file(f"{number}.pdf", 4 * MIB - number) for number in range(3)])
    turn = asyncio.create_task(scene.file())
    most = 0
    while not turn.done():
        rows = await scene.mirror.rows("SELECT FROM archives WHERE state = 'working'")
        most = max(most, len(rows))
        await asyncio.sleep(0)
    await turn
    assert (most, await filed(scene)) == (1, ["0.pdf", "1.pdf", "2.pdf"])


async def test_what_is_found_while_a_large_set_is_under_way_is_filed(scene: Scene) -> None:
    """A worker that is in the middle of a large file hears of what the next cycle finds, and files it."""
    assert scene.mirror.lane is not None
    other = scene.world.add_channel("Other")
    await scene.mirror.sync()
    await scene.mirror.enable(other, destination=scene.vault)
    await scene.found(scene.world.add_file("huge.pdf", LARGE))
    scene.world.faults.add(Fault(FaultKind.WAIT, "upload.getFile", seconds=600))
    filer = FilingLoop(scene.mirror.database, SystemClock(), scene.policy, beside_cycles=True)
    working = asyncio.create_task(filer.work(scene.mirror.lane))
    try:
        await filer.after_cycle(scene.mirror.lane)
        await until(lambda: fetched(scene) > 0)
        scene.world.post(other, file=scene.world.add_file("little.pdf", 1_000))
        await scene.find()
        await filer.after_cycle(scene.mirror.lane)
        await until(lambda: names_filed(scene, "little.pdf"))
    finally:
        working.cancel()
        await asyncio.wait([working])


async def test_what_turns_out_to_be_large_holds_up_nobody(scene: Scene) -> None:
    """A copy that is refused becomes a long upload: from then on it goes with the large sets."""
    scene.source.protected = False
    await scene.mirror.enable(scene.source, destination=scene.vault)
    await scene.found(scene.world.add_file("huge.pdf", LARGE))
    await scene.found(scene.world.add_content("little.pdf", b"little"))
    scene.source.protected = True
    await scene.file()
    assert await filed(scene) == ["little.pdf", "huge.pdf"]
    assert await scene.failures() == []


async def test_a_set_of_many_parts_counts_as_large(scene: Scene) -> None:
    """Each part is a call of its own, however small it is."""
    names = [f"many.7z.{number:03}" for number in range(1, 31)]
    await scene.found(*[scene.world.add_file(name, 900) for name in names])
    await scene.found(scene.world.add_file("little.pdf", 1_000))
    await scene.file()
    assert await filed(scene) == ["little.pdf", "many.7z.001"]


# No longer wanted


async def test_switching_the_hash_off_stops_the_download(scene: Scene) -> None:
    """No further block is asked for, and the set is filed at once, without a hash."""
    await scene.found(scene.world.add_file("huge.pdf", LARGE))
    before = fetched(scene)
    async with filing_slowly(scene, 3):
        await scene.mirror.enable(scene.source)
    assert fetched(scene, before) < LARGE // MIB
    assert (await filed(scene), await digests(scene), await scene.failures()) == (["huge.pdf"], [None], [])
    assert scene.lying == []


async def test_disabling_the_channel_stops_the_download(scene: Scene) -> None:
    """The set waits with all its tries until its channel is wanted again."""
    await scene.found(scene.world.add_file("huge.pdf", LARGE))
    before = fetched(scene)
    async with filing_slowly(scene, 3), scene.mirror.database.transaction() as connection:
        await channels.disable(connection, await channels.find(connection, str(scene.source.id)))
    assert fetched(scene, before) < LARGE // MIB
    assert ([row["state"] for row in await scene.archives()], await scene.failures()) == (["waiting"], [])


async def test_taking_the_destination_away_stops_the_download(scene: Scene) -> None:
    """Nothing is uploaded and nothing posted; the set is filed as it is wanted now."""
    scene.source.protected = True
    await scene.mirror.sync()
    await scene.mirror.enable(scene.source, destination=scene.vault)
    await scene.found(scene.world.add_file("huge.pdf", LARGE))
    async with scene.mirror.counted() as calls, filing_slowly(scene, 3):
        await scene.mirror.enable(scene.source)
    assert calls["upload.getFile"] < LARGE // MIB
    assert (calls["upload.saveBigFilePart"], scene.delivered) == (0, [])
    assert (await filed(scene), await scene.failures()) == (["huge.pdf"], [])


async def test_taking_the_destination_away_stops_the_upload(scene: Scene) -> None:
    """The same in the middle of the way there."""
    scene.source.protected = True
    await scene.mirror.sync()
    await scene.mirror.enable(scene.source, destination=scene.vault)
    await scene.found(scene.world.add_file("huge.pdf", 12 * MIB))
    async with scene.mirror.counted() as calls:
        turn = asyncio.create_task(scene.file())
        await until(lambda: scene.world.record.by_method()["upload.saveBigFilePart"] > 0)
        scene.mirror.telegram.latency = STUCK
        await scene.mirror.enable(scene.source)
        async with asyncio.timeout(PATIENCE):
            await turn
    assert (calls["messages.sendMedia"], scene.delivered) == (0, [])
    assert (await filed(scene), await scene.failures()) == (["huge.pdf"], [])


async def test_a_hash_is_no_part_of_an_upload(scene: Scene) -> None:
    """Switching the hash off while a set is on its way to its destination stops nothing."""
    scene.source.protected = True
    await scene.mirror.sync()
    await scene.mirror.enable(scene.source, hashed=True, destination=scene.vault)
    await scene.found(scene.world.add_file("huge.pdf", LARGE))
    blocks = 12
    async with scene.mirror.counted() as calls, filing_slowly(scene, blocks):
        await scene.mirror.enable(scene.source, destination=scene.vault)
        scene.mirror.telegram.latency = SLOW * 3
    assert calls["upload.getFile"] < LARGE // MIB + blocks  # calls that got stuck may be repeated, no more
    assert [file.name for file in scene.delivered] == ["huge.pdf"]


# A worker that goes away


async def test_sets_cut_off_side_by_side_are_filed_once(scene: Scene) -> None:
    """Two large sets and a small one are under way when the worker is gone: the next one files each of them once."""
    other = await another(scene, "Other")
    for channel in (scene.source, other):
        channel.protected = True
    await scene.mirror.sync()
    for channel in (scene.source, other):
        await scene.mirror.enable(channel, destination=scene.vault)
        scene.world.post(channel, file=scene.world.add_file(f"{channel.title}.pdf", 5 * MIB + channel.id % 7))
    await scene.find()
    await scene.found(scene.world.add_file("little.pdf", 700_000))

    async def several_in_hand() -> bool:
        return len(await scene.mirror.rows("SELECT FROM archives WHERE state = 'working'")) > 1

    async with scene.cut_off(several_in_hand):
        await scene.file()
    assert sorted(file.name for file in scene.delivered) == ["Models.pdf", "Other.pdf", "little.pdf"]
    assert {row["state"] for row in await scene.archives()} == {"filed"}
    assert (await scene.failures(), scene.lying) == ([], [])


async def test_what_is_in_hand_is_not_put_back(scene: Scene) -> None:
    """A turn that begins beside another leaves the other's sets alone, and takes up what nobody has in hand."""
    await scene.found(scene.world.add_file("a.pdf", 10), scene.world.add_file("b.pdf", 10))
    await scene.mirror.rows("UPDATE archives SET state = 'working'")
    mine, lost = [row["id"] for row in await scene.archives()]
    async with scene.mirror.database.transaction() as connection:
        await filing_queue.put_back(connection, scene.mirror.account.id, but=[mine])
    assert {row["id"]: row["state"] for row in await scene.archives()} == {mine: "working", lost: "waiting"}
