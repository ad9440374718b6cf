"""What keeps a file of Discord from being kept, and how it is kept all the same; texts never wait for it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from tests.cycles.guilds.conftest import GuildMirror, channels_of
from tests.cycles.guilds.file_scene import GuildFiles
from tests.media.fetching_scene import PLENTY
from tests.platforms.drawer import Drawer
from tests.waiting import until
from tidegate.core.errors import PlatformError
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.history import Attachment
from tidegate.loopback.discord.world.places import Guild
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.owned_account import add_account
from tidegate.media.file_fetcher import FetchResult
from tidegate.media.rules.fetch_retry import PAUSES
from tidegate.media.rules.media_policy import MediaRule
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.discord.connector import SIGN_IN
from tidegate.platforms.discord.file_reader import METHOD as FILE

MIB = 1 << 20


@pytest.fixture
async def scene(mirror: GuildMirror, world: World, guild: Guild, tmp_path: Path) -> GuildFiles:
    """A channel that is mirrored."""
    [channel] = channels_of(world, guild, [0])
    await mirror.connect()
    return GuildFiles(mirror, channel, tmp_path / "media")


def digest(file: Attachment) -> str:
    return sha256(file.content).hexdigest()


@pytest.mark.parametrize("trouble", ["disk", "store", "limit"])
async def test_messages_are_mirrored_while_files_wait(scene: GuildFiles, trouble: str) -> None:
    """Disk full, store away or limit reached: texts come, also those with files, and the files follow by themselves."""
    first, second = (scene.world.attachment(name, name.encode() * 10_000) for name in ("a.bin", "b.bin"))
    blocked: list[Path] = []
    if trouble == "disk":
        scene.free = 500
    elif trouble == "store":
        blocked = scene.put_in_the_way(digest(first), digest(second))
    else:
        await scene.limit(60_000)
        await scene.mirrored("it fits", scene.world.attachment("fits.bin", bytes(50_000)))
        assert (await scene.fetch()).kept == 1
    await scene.mirrored("low tide", first)
    account = scene.account()
    assert (await account.run()).paused is not None
    scene.post("the harbour is open", second)
    await scene.mirrored("ahoy")
    assert (await scene.texts())[-3:] == ["low tide", "the harbour is open", "ahoy"]
    assert (await account.run()).paused is not None
    states = await scene.states()
    assert [states[file.id] for file in (first, second)] == [("wanted", ""), ("wanted", "")]
    scene.free = PLENTY
    for place in blocked:
        place.unlink()
    await scene.limit(10**9)
    assert (await account.run()).kept == 2
    kept = await scene.kept()
    assert [kept[file.id] for file in (first, second)] == [digest(first), digest(second)]
    assert Counter(await scene.told())["media.paused"] == 1


async def test_a_false_size_is_a_failure_and_takes_no_room(scene: GuildFiles) -> None:
    """A file that is said to have 4 GB and has a few bytes is tried with pauses, and given up with a sentence."""
    await scene.limit(8 << 30)
    await scene.allow(MediaRule(largest=8 << 30))
    scene.free = 10 * MIB
    file = replace(scene.world.attachment("film.mkv", b"no film"), fields={"size": 4 << 30})
    await scene.mirrored("a long film", file)
    assert await scene.texts() == ["a long film"]
    assert (await scene.fetch()).failed == 1
    for pause in PAUSES:
        await scene.mirror.pass_time(seconds=pause.total_seconds() + 1)
        assert (await scene.fetch()).failed == 1
    state, reason = (await scene.states())[file.id]
    assert (state, "announced 4,294,967,296 bytes" in reason) == ("failed", True)
    await scene.mirror.pass_time(days=9)
    assert await scene.fetch() == FetchResult()
    assert await scene.told() == ["media.failed"]
    assert [path for path in scene.folder.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("announced", [1_000, MIB])
async def test_a_file_that_is_larger_than_it_said_is_not_kept(scene: GuildFiles, announced: int) -> None:
    """Sizes are checked while bytes arrive, also where the announced ones fill whole parts."""
    file = replace(scene.world.attachment("a.bin", bytes(announced + 1)), fields={"size": announced})
    await scene.mirrored("a file", file)
    assert (await scene.fetch()).failed == 1
    assert (await scene.states())[file.id][0] == "failed"
    assert await scene.kept() == {}


async def test_a_file_that_is_replaced_under_the_same_name_is_kept_as_well(scene: GuildFiles) -> None:
    """An edit brings another file; the message shows the new one, and the earlier one stays until a sweep."""
    before, after = (scene.world.attachment("map.png", content) for content in (b"before", b"after"))
    await scene.mirrored("the map", before)
    await scene.fetch()
    [message] = scene.channel.history
    await scene.mirror.connect(live=True)
    async with scene.mirror.working():
        scene.world.change_message(scene.channel, replace(message, attachments=[after]))
        await until(lambda: scene.rows("SELECT FROM attachments WHERE file = $1", after.id))
    assert (await scene.fetch()).kept == 1
    assert await scene.kept() == {before.id: digest(before), after.id: digest(after)}
    rows = await scene.rows("SELECT file FROM attachments")
    assert [row["file"] for row in rows] == [after.id]


@pytest.fixture
async def beside(scene: GuildFiles, world: World) -> AsyncIterator[GuildFiles]:
    """Another bot on a server of its own, whose files go to the same store."""
    other = world.add_bot("buoy")
    [channel] = channels_of(world, world.add_guild("The lagoon", [other]), [0])
    first = scene.mirror
    account = await add_account(first.database, "buoy", DISCORD)
    drawer = Drawer({SIGN_IN: world.token(other).encode()})
    second = GuildMirror(first.database, first.discord, first.call_log, account, drawer)
    await second.connect()
    yield GuildFiles(second, channel, scene.folder)
    await second.lane.close()


async def test_the_same_file_of_two_accounts_at_once_is_stored_once(scene: GuildFiles, beside: GuildFiles) -> None:
    """Two bots read two servers with the same file: one of them fetches it, and both messages show it."""
    file = scene.world.attachment("map.png", b"the harbour" * 9_000)
    same = scene.world.attachment("copy.png", file.content)
    scene.post("the map", file)
    beside.post("forwarded", file)
    beside.post("a copy", same)
    await asyncio.gather(scene.mirror.cycle(), beside.mirror.cycle())
    assert sorted(await scene.texts()) == ["a copy", "forwarded", "the map"]
    async with scene.mirror.counted() as calls:
        first, last = await asyncio.gather(scene.fetch(), beside.fetch())
    assert (first.kept + last.kept, calls[FILE]) == (2, 2)
    assert await scene.kept() == {file.id: digest(file), same.id: digest(file)}
    rows = await scene.rows("SELECT count(*) AS number FROM media_blobs")
    assert rows[0]["number"] == 1
    shown = await scene.rows("SELECT count(*) AS number FROM attachments WHERE file = $1", file.id)
    assert shown[0]["number"] == 2


async def test_connections_that_break_in_mid_download_cost_little(scene: GuildFiles) -> None:
    """Each is made anew and reads on: what has arrived is not read again."""
    file = scene.world.attachment("film.bin", b"frames" * 1_700_000)  # ten parts
    await scene.mirrored("a film", file)
    scene.world.faults.add(Fault(FaultKind.DISCONNECT, FILE, count=3))
    for _ in range(9):
        with suppress(PlatformError):
            await scene.fetch()
        await scene.mirror.pass_time(minutes=2)
        if await scene.kept():
            break
    assert await scene.kept() == {file.id: digest(file)}
    assert max(scene.world.record.pieces.values()) == 1


async def test_a_file_server_that_is_away_costs_no_file_a_try(scene: GuildFiles) -> None:
    """Texts come all the same; the file is fetched by itself once the server is back."""
    file = scene.world.attachment("a.bin", b"low tide")
    await scene.mirrored("a file", file)
    scene.world.faults.add(Fault(FaultKind.DISCONNECT, FILE, count=1_000))
    with pytest.raises(PlatformError):
        await scene.fetch()
    await scene.mirrored("ahoy")
    assert await scene.texts() == ["a file", "ahoy"]
    rows = await scene.rows("SELECT attempts FROM media_files")
    assert [row["attempts"] for row in rows] == [0]
    scene.world.faults.clear()
    await scene.mirror.pass_time(minutes=5)
    assert (await scene.fetch()).kept == 1
