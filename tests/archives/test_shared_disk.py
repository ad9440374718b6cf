"""A disk that several accounts share and that has room for one of their files: they get through one by one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archives.filing_scene import Scene
from tests.scenes.telegram_mirror import Mirror, make_mirror
from tidegate.archives.filing.partial_file import PartialFile
from tidegate.archives.filing.queues import FilingResult
from tidegate.archives.filing.work_folder import Shortage, WorkFolder
from tidegate.archives.rules.disk_eviction import fewest_to_free
from tidegate.loopback.telegram import TelegramServer, World

MIB = 1024 * 1024
FILE, DISK = 8 * MIB, 10 * MIB


def free_of(total: int, folder: Path) -> int:
    """What a disk of *total* bytes has left on which nothing but the folder lies."""
    return total - sum(one.stat().st_blocks * 512 for one in folder.rglob("*") if one.is_file())


@pytest.fixture
async def scenes(mirror: Mirror, telegram: TelegramServer, world: World, tmp_path: Path) -> AsyncIterator[list[Scene]]:
    """Two accounts, each with a channel of its own that lets nothing be copied, and one work folder."""
    other = await make_mirror(mirror.database, telegram, mirror.call_log, "other", "+1000002")
    vault = world.add_channel("Vault")
    made = []
    for reader, title in ((mirror, "Models"), (other, "Prints")):
        source = world.add_channel(title)
        source.protected = True
        await reader.sync()
        async with reader.database.transaction() as connection:
            await connection.execute("UPDATE channels SET reader = $1 WHERE number = $2", reader.account.id, source.id)
        await reader.enable(source, destination=vault)
        folder = tmp_path / "work"
        made.append(Scene(reader, source, vault, folder, free=lambda path: free_of(DISK, path)))
    yield made
    assert other.lane is not None
    await other.lane.close()


async def find(scenes: list[Scene]) -> None:
    for scene in scenes:
        scene.world.post(scene.source, file=scene.world.add_file(f"{scene.source.title}.pdf", FILE))
    for scene in scenes:
        await scene.find()


async def notices(scene: Scene) -> list[str]:
    rows = await scene.mirror.rows("SELECT kind FROM events WHERE kind LIKE 'filing.%' ORDER BY id")
    return [row["kind"] for row in rows]


async def test_two_accounts_take_turns_on_a_short_disk(scenes: list[Scene]) -> None:
    """Both begin at once: none of them gets half of the room, no try is used up, and nobody is told to do anything."""
    await find(scenes)
    first, second = scenes
    async with first.mirror.counted() as calls:
        told = await asyncio.gather(first.file(), second.file())
        assert any(one.filed for one in told)
        assert all(one.filed or one.paused for one in told)
        await asyncio.gather(first.file(), second.file())
    assert sorted(file.name for file in first.delivered) == ["Models.pdf", "Prints.pdf"]
    assert calls["upload.getFile"] == 2 * FILE // MIB
    assert (await first.failures(), await notices(first)) == ([], [])


async def test_what_an_account_left_half_done_keeps_no_other_from_its_work(scenes: list[Scene]) -> None:
    """One account stops in the middle of a file and stays away: its half goes when the other needs the room."""
    await find(scenes)
    first, second = scenes

    async def half() -> bool:
        return first.world.record.by_method()["upload.getFile"] >= FILE // MIB // 2

    async with first.cut_off(half):
        await first.mirror.rows("UPDATE archives SET state = 'waiting' WHERE state = 'working'")
        assert await second.file() == FilingResult(filed=1)
    assert await first.file() == FilingResult(filed=1)
    assert sorted(file.name for file in first.delivered) == ["Models.pdf", "Prints.pdf"]
    assert (await first.failures(), await notices(first)) == ([], [])


async def test_what_is_being_worked_on_is_never_let_go(scenes: list[Scene]) -> None:
    """The other account's half stays for as long as it has the set in hand."""
    await find(scenes)
    first, second = scenes

    async def half() -> bool:
        return first.world.record.by_method()["upload.getFile"] >= FILE // MIB // 2

    async with first.cut_off(half):
        lying = set(first.lying)
        assert await second.file() == FilingResult(paused=True)
        assert set(first.lying) == lying
    assert (await second.failures(), await notices(first)) == ([], [])


def test_room_is_taken_before_the_first_byte(tmp_path: Path) -> None:
    """Two files that do not fit together: the second is refused at once, also by another process's view of the disk."""
    folder = tmp_path / "work"
    ours, theirs = (WorkFolder(folder, reserve=MIB, free=lambda path: free_of(DISK, path)) for _ in range(2))
    first, second = (PartialFile(ours.place(n, 1, "a"), file=n, size=FILE, host="here") for n in (1, 2))
    ours.open(first)
    with pytest.raises(Shortage, match="Make room"):
        theirs.open(second)
    first.close()
    assert theirs.held() == {1: pytest.approx(FILE, abs=8192)}
    ours.open(first)
    first.close()


@given(st.dictionaries(st.integers(1, 20), st.integers(1, 100), max_size=6), st.integers(1, 300))
def test_as_little_as_possible_goes(held: dict[int, int], lacking: int) -> None:
    """What goes is enough, none of it could stay, and nothing goes where all of it is not enough."""
    going = fewest_to_free(held, lacking)
    if sum(held.values()) < lacking:
        assert going == []
        return
    freed = sum(held[one] for one in going)
    assert freed >= lacking
    assert all(freed - held[one] < lacking for one in going)
