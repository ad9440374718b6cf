"""Avatars are kept once each, from what the platform shows anyway, after all other files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.media.fetching_scene import MediaScene
from tests.scenes.telegram_mirror import Mirror
from tidegate.core.ids import ChannelKey, UserId
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.people import SOMEBODY
from tidegate.media.queries import avatars, media_rules

MARKED = 1_000_000_000_000


@pytest.fixture
async def scene(mirror: Mirror, world: World, tmp_path: Path) -> MediaScene:
    """A channel with a picture, and an author with one."""
    channel = world.add_channel("News")
    channel.photo = world.add_photo("channel").id
    world.people[SOMEBODY].photo = world.add_photo("first").id
    await mirror.sync()
    await mirror.enable(channel, in_full=True)
    return MediaScene(mirror, channel, tmp_path / "media")


async def digest(scene: MediaScene, owner: int) -> str | None:
    async with scene.mirror.database.connection() as connection:
        found = await avatars.find(connection, "telegram", owner)
    return None if found is None else found.whole.sha256.hex()


async def test_avatars_of_authors_and_channels_are_kept_and_follow_changes(scene: MediaScene) -> None:
    """No call but the one for the bytes is made; another picture is fetched as well, and the earlier one stays kept."""
    world, somebody = scene.world, scene.world.people[SOMEBODY]
    await scene.mirrored(world.add_photo("in a message"), world.add_photo("in another"))
    async with scene.mirror.counted() as calls:
        await scene.fetch()
    assert calls == {"upload.getFile": 4}
    first = world.files[somebody.photo].sha256()
    assert await digest(scene, SOMEBODY) == first
    assert await digest(scene, -MARKED - scene.channel.id) == world.files[scene.channel.photo].sha256()
    somebody.photo = world.add_photo("second").id
    await scene.mirrored(world.add_photo("one more"))
    await scene.fetch()
    assert await digest(scene, SOMEBODY) == world.files[somebody.photo].sha256()
    assert first in (await scene.kept()).values()
    async with scene.mirror.database.connection() as connection:
        assert await avatars.kept_of(connection, "telegram", [UserId(SOMEBODY), UserId(1)]) == {SOMEBODY}
        key: ChannelKey = await connection.fetchval("SELECT id FROM channels")
        assert await avatars.channel_owners(connection, [key]) == {key: -MARKED - scene.channel.id}


async def test_a_group_that_only_changes_its_picture_is_noticed_by_the_gate(scene: MediaScene) -> None:
    """The answer that tells whether anything changed describes the channel too."""
    await scene.mirrored()
    scene.channel.photo = scene.world.add_photo("new").id
    await scene.mirrored()
    await scene.fetch()
    assert await digest(scene, -MARKED - scene.channel.id) == scene.world.files[scene.channel.photo].sha256()


async def test_avatars_that_were_seen_while_media_were_off_are_fetched_later(scene: MediaScene) -> None:
    """Turning media on covers them without reading a message again."""
    async with scene.mirror.database.transaction() as connection:
        await media_rules.set_state(connection, enabled=False)
    await scene.mirrored(scene.world.add_photo("in a message"))
    await scene.mirror.database.pool.execute("DELETE FROM media_files")
    async with scene.mirror.database.transaction() as connection:
        await media_rules.set_state(connection, enabled=True)
    await scene.fetch()
    assert await digest(scene, SOMEBODY) == scene.world.files[scene.world.people[SOMEBODY].photo].sha256()
