"""Files posted on Discord: kept with their messages, and found by their names."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path

from tests.cycles.guilds.conftest import PAGES, GuildMirror, channels_of
from tidegate.archives.filing.download import AT_ONCE
from tidegate.archives.filing.work_folder import WorkFolder
from tidegate.core.clock import SystemClock
from tidegate.loopback.discord import World
from tidegate.loopback.discord.asset_files import asset_bytes
from tidegate.loopback.discord.world.messages.sample_files import sample_bytes
from tidegate.loopback.discord.world.places import Guild
from tidegate.media.file_fetcher import AccountMedia, MediaSetup
from tidegate.media.local_store import LocalStore
from tidegate.media.queries import avatars
from tidegate.platforms.discord.file_reader import METHOD as FILE


async def test_a_zip_is_kept_with_its_message_and_opens_no_archive(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """Nothing lists or files archives of Discord, so none is shown that would wait for ever."""
    [made] = channels_of(world, guild, [0])
    world.post(made, "the castle", attachments=(world.attachment("castle.zip", b"PK"),))
    await mirror.connect()
    await mirror.cycle()
    pool = mirror.database.pool
    assert await pool.fetchval("SELECT count(*) FROM archives") == 0
    assert [row["name"] for row in await pool.fetch("SELECT name FROM attachments")] == ["castle.zip"]


def fetching(mirror: GuildMirror, folder: Path) -> AccountMedia:
    work = WorkFolder(folder / "partial", reserve=0, host="here", what="Files")
    return AccountMedia(mirror.lane, mirror.database, SystemClock(), MediaSetup(LocalStore(folder), work))


async def digests(mirror: GuildMirror) -> dict[int, str]:
    rows = await mirror.rows("SELECT file, sha256 FROM media_files WHERE state = 'kept'")
    return {row["file"]: row["sha256"].hex() for row in rows}


async def test_links_that_expired_are_renewed_a_page_a_call(
    mirror: GuildMirror, world: World, guild: Guild, tmp_path: Path
) -> None:
    """Files of 150 messages whose links ended cost two calls, and each file one more for its bytes."""
    [made] = channels_of(world, guild, [0])
    files = [world.attachment(f"{number}.bin", f"file {number}".encode()) for number in range(150)]
    for file in files:
        world.post(made, "a file", attachments=[file])
    await mirror.connect()
    await mirror.cycle()
    account = fetching(mirror, tmp_path / "media")
    await account.run(most=1)
    await mirror.database.pool.execute("UPDATE media_files SET handle_until = clock_now()")
    async with mirror.counted() as calls:
        assert (await account.run()).kept == 149
    assert calls == {PAGES: 2, FILE: 149}
    assert await digests(mirror) == {file.id: sha256(file.content).hexdigest() for file in files}


async def test_a_link_that_ends_in_mid_download_is_renewed(
    mirror: GuildMirror, world: World, guild: Guild, tmp_path: Path
) -> None:
    """The file server no longer knows the link: the message is read again, and the file read on."""
    [made] = channels_of(world, guild, [0])
    file = world.attachment("film.bin", b"frames" * 700_000)
    world.post(made, "a film", attachments=[file])
    await mirror.connect()
    await mirror.cycle()
    await mirror.database.pool.execute(
        "UPDATE media_files SET handle = regexp_replace(handle, 'ex=[0-9a-f]+', 'ex=1'), handle_until = NULL"
    )
    async with mirror.counted() as calls:
        assert (await fetching(mirror, tmp_path / "media").run()).kept == 1
    assert (calls[PAGES], await digests(mirror)) == (1, {file.id: sha256(file.content).hexdigest()})


class LaterClock(SystemClock):
    """The platform's clock, which jumps two days ahead once some parts of files have been read."""

    def __init__(self, world: World, *, reads: int) -> None:
        self._world = world
        self._reads = reads

    def now(self) -> datetime:
        jumped = self._world.record.by_method()[FILE] > self._reads
        return super().now() + timedelta(days=2 if jumped else 0)


async def test_a_link_that_expires_while_its_file_is_read_is_renewed(
    mirror: GuildMirror, world: World, guild: Guild, tmp_path: Path
) -> None:
    """Some parts are there and others in flight: one call renews the link, and only what is missing is read."""
    [made] = channels_of(world, guild, [0])
    file = world.attachment("film.bin", b"frames" * 1_700_000)  # ten parts
    world.post(made, "a film", attachments=[file])
    await mirror.connect()
    await mirror.cycle()
    world.clock = LaterClock(world, reads=4)
    async with mirror.counted() as calls:
        assert (await fetching(mirror, tmp_path / "media").run()).kept == 1
    assert (calls[PAGES], await digests(mirror)) == (1, {file.id: sha256(file.content).hexdigest()})
    assert 10 < calls[FILE] <= 10 + AT_ONCE, "the links in flight had expired"


async def test_avatars_of_authors_and_servers_are_read_from_the_cdn(
    mirror: GuildMirror, world: World, guild: Guild, tmp_path: Path
) -> None:
    """An author's picture and the server's are kept, by their names; another name is another picture."""
    [made] = channels_of(world, guild, [0])
    guild.icon = "b2c3"
    post = world.post(made, "ahoy")
    author = next(one for one in world.people.values() if one.id == post.author)
    author.fields["avatar"] = "a1"
    await mirror.connect()
    await mirror.cycle()
    assert (await fetching(mirror, tmp_path / "media").run()).kept == 2
    async with mirror.database.connection() as connection:
        found = [await avatars.find(connection, "discord", number) for number in (author.id, guild.id)]
    paths = (f"/avatars/{author.id}/a1.webp", f"/icons/{guild.id}/b2c3.webp")
    expected = [sha256(asset_bytes(world, path)[0]).hexdigest() for path in paths]
    assert [one and one.whole.sha256.hex() for one in found] == expected


async def test_the_still_of_a_video_is_drawn_by_discord(
    mirror: GuildMirror, world: World, guild: Guild, tmp_path: Path
) -> None:
    """Its media proxy draws one beside the file; a document has none."""
    [made] = channels_of(world, guild, [0])
    video = world.attachment("tide.mp4", b"\0\0\0\x18ftypmp42 frames", "video/mp4")
    video.fields = {"width": 640, "height": 360}
    text = world.attachment("notes.txt", b"low tide", "text/plain")
    world.post(made, "two files", attachments=[video, text])
    await mirror.connect()
    await mirror.cycle()
    async with mirror.counted() as calls:
        assert (await fetching(mirror, tmp_path / "media").run()).kept == 2
    assert calls == {FILE: 3}
    rows = await mirror.rows("SELECT file, thumbnail FROM media_files WHERE thumbnail IS NOT NULL")
    still = sha256(sample_bytes(f"{video.id}.png")).digest()
    assert [(row["file"], row["thumbnail"]) for row in rows] == [(video.id, still)]
