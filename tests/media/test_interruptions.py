"""What comes in between while files are fetched: references end, everything pauses, a sender forbids saving."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from tests.media.fetching_scene import PLENTY, MediaScene
from tests.scenes.telegram_mirror import Mirror
from tidegate.archives.filing.download import AT_ONCE
from tidegate.core.clock import SystemClock
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.file_content import File, FileKind
from tidegate.loopback.telegram.world.schema import PostSpec
from tidegate.loopback.telegram.world.world_changes import post
from tidegate.media.media_loop import MediaLoop
from tidegate.media.queries import media_rules
from tidegate.media.rules.media_policy import MediaRule, SkipReason

MIB = 1 << 20
READ, AGAIN = "upload.getFile", "channels.getMessages"


@pytest.fixture
async def scene(mirror: Mirror, world: World, tmp_path: Path) -> MediaScene:
    """A channel that is mirrored in full."""
    channel = world.add_channel("News")
    await mirror.sync()
    await mirror.enable(channel, in_full=True)
    return MediaScene(mirror, channel, tmp_path / "media")


@dataclass(slots=True)
class EndingFile(File):
    """A file whose references end each time another third of it has been read."""

    ended: int = 0

    def read(self, offset: int, limit: int) -> bytes:
        if offset >= (self.ended + 1) * self.size // 3 and self.ended < 2:
            self.ended += 1
            self.generation += 1
        return File.read(self, offset, limit)


async def test_references_that_end_in_mid_download_cost_one_call_each(scene: MediaScene) -> None:
    """Twice they end while some parts are there and others in flight; nothing that has arrived is read again."""
    plain = scene.world.add_file("film.bin", 12 * MIB)
    file = scene.world.files[plain.id] = EndingFile(**{one.name: getattr(plain, one.name) for one in fields(File)})
    await scene.mirrored(file)
    async with scene.mirror.counted() as calls:
        assert (await scene.fetch()).kept == 1
    assert file.ended == 2
    assert await scene.kept() == {file.id: plain.sha256()}
    assert calls[AGAIN] == 2
    assert calls[READ] <= 12 + 1 + 2 * AT_ONCE, "the parts, the end, and what was in flight when the references ended"
    assert await scene.told() == ["media.kept"]


@pytest.mark.parametrize("trouble", ["disk", "store", "limit"])
async def test_messages_are_mirrored_while_files_wait(scene: MediaScene, trouble: str) -> None:
    """Disk full, store away or limit reached: texts come, also those with files, and the files follow by themselves."""
    world = scene.world
    first, second = world.add_file("a.bin", 60_000), world.add_file("b.bin", 60_000)
    blocked: list[Path] = []
    if trouble == "disk":
        scene.free = 500
    elif trouble == "store":
        blocked = scene.put_in_the_way(first.sha256(), second.sha256())
    else:
        await scene.limit(60_000)
        await scene.mirrored(world.add_file("fits.bin", 50_000))
        assert (await scene.fetch()).kept == 1
    await scene.mirrored(first)
    account = scene.account()
    assert (await account.run()).paused is not None
    world.post(scene.channel, "the harbour is open", file=second)
    world.post(scene.channel, "ahoy")
    await scene.mirrored()
    assert (await scene.texts())[-2:] == ["the harbour is open", "ahoy"]
    assert (await account.run()).paused is not None
    states = await scene.states()
    assert [states[file.id] for file in (first, second)] == [("wanted", ""), ("wanted", "")]
    scene.free = PLENTY
    for place in blocked:
        place.unlink()
    await scene.limit(10**9)
    assert (await account.run()).kept == 2
    assert Counter(await scene.told())["media.paused"] == 1
    assert await scene.mirror.rows("SELECT FROM media_pauses") == []


async def keep_protected(scene: MediaScene, keep: bool) -> None:
    async with scene.mirror.database.transaction() as connection:
        await media_rules.set_state(connection, keep_protected=keep)


async def test_what_forbids_saving_is_kept_only_where_the_operator_says_so(scene: MediaScene) -> None:
    """A message that forbids it, and a picture that destroys itself: each says why, is not read, and can be kept."""
    world = scene.world
    file = world.add_file("plan.pdf", 5_000)
    world.post(scene.channel, "not for others", file=file, fields={"noforwards": True})
    [number] = post(world, PostSpec(channel="News", kind="photo"))
    scene.channel.messages[number].fields["media"].ttl_seconds = 10
    await scene.mirrored()
    async with scene.mirror.counted() as calls:
        assert (await scene.fetch()).kept == 0
    assert calls[READ] == 0
    states = await scene.states()
    assert states.pop(file.id) == ("skipped", SkipReason.PROTECTED)
    assert set(states.values()) == {("skipped", SkipReason.FLEETING)}
    await keep_protected(scene, True)
    result = await scene.fetch()
    assert (result.kept, (await scene.kept())[file.id]) == (2, file.sha256())


async def test_a_message_that_forbids_saving_is_asked_before_its_file(scene: MediaScene) -> None:
    """Stored while media were off, the file is wanted again, and its message tells that it must not be kept."""
    async with scene.mirror.database.transaction() as connection:
        await media_rules.set_state(connection, enabled=False)
    file = scene.world.add_file("plan.pdf", 5_000)
    scene.world.post(scene.channel, "not for others", file=file, fields={"noforwards": True})
    await scene.mirrored()
    async with scene.mirror.database.transaction() as connection:
        await media_rules.set_state(connection, enabled=True)
    async with scene.mirror.counted() as calls:
        assert (await scene.fetch()).skipped == 1
    assert (calls, await scene.states()) == ({AGAIN: 1}, {file.id: ("skipped", SkipReason.PROTECTED)})


async def test_a_channel_that_forbids_saving(scene: MediaScene) -> None:
    """None of its files is fetched, until the operator says so."""
    scene.channel.protected = True
    await scene.mirror.sync()
    await scene.mirrored(scene.world.add_file("a.bin", 5_000), scene.world.add_file("b.bin", 5_000))
    assert (await scene.fetch()).kept == 0
    assert set((await scene.states()).values()) == {("skipped", SkipReason.PROTECTED)}
    await keep_protected(scene, True)
    assert (await scene.fetch()).kept == 2


async def test_nothing_is_read_twice(scene: MediaScene) -> None:
    """Of many files in many messages, looked at again and again, the platform is asked for each part once."""
    world, lane = scene.world, scene.mirror.lane
    assert lane is not None
    photos = [world.add_file(f"{n}.jpg", 50_000, kind=FileKind.PHOTO, mime="image/jpeg") for n in range(20)]
    large = [world.add_file(f"{n}.bin", 2 * MIB + n + 1) for n in range(4)]
    await scene.mirrored(*photos, *large, *photos)
    loop = MediaLoop(scene.mirror.database, SystemClock(), scene.setup)
    async with scene.mirror.counted() as calls:
        await loop.fetch(lane)
        await scene.allow(MediaRule(largest=30 * MIB))
        await loop.fetch(lane)
        await scene.mirrored(*large)
        await scene.account().run()
    assert len(await scene.kept()) == 24
    assert calls[READ] == 20 + 4 * 3
    assert calls[AGAIN] == 0
