"""Archives and imported numbers (scenarios J and K): posted on the platform, found by cycles, shown to the operator."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenes.telegram_mirror import Mirror
from tidegate.archives.queries import archive_list
from tidegate.archives.queries.archive_search import ArchiveFilter
from tidegate.archives.rules.file_names import ArchiveKind, position
from tidegate.channels.queries import channels
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.scans.queries import scan_memory
from tidegate.scans.rules.tdlib_import import imported_memory, topic_from_tdlib


@pytest.fixture
async def channel(mirror: Mirror, world: World) -> Channel:
    """An enabled channel with nothing in it."""
    made = world.add_channel("Models")
    await mirror.sync()
    await mirror.enable(made)
    await mirror.settle()
    return made


def post(mirror: Mirror, channel: Channel, *names: str, last: int = 400) -> None:
    """Parts of a thousand bytes, the last one smaller."""
    for name in names:
        size = last if name == names[-1] else 1_000
        mirror.world.post(channel, file=mirror.world.add_file(name, size))


async def shown(mirror: Mirror) -> list[dict[str, Any]]:
    """Every archive as ``archive show`` has it, oldest first."""
    async with mirror.database.connection() as connection:
        listed = await archive_list.listing(connection, ArchiveFilter(), most=100)
        return [await archive_list.show(connection, one["id"]) for one in reversed(listed)]


async def parts(mirror: Mirror) -> list[tuple[ArchiveKind, list[str]]]:
    """The kind of each archive and its parts in their order, after the quiet time that a set is given."""
    await mirror.cycle()
    await mirror.pass_time(hours=2)
    await mirror.cycle()
    found = await shown(mirror)
    assert {one["state"] for one in found} == {"waiting"}
    return [(ArchiveKind(one["kind"]), await _in_order(mirror, one["id"], ArchiveKind(one["kind"]))) for one in found]


async def _in_order(mirror: Mirror, archive: int, kind: ArchiveKind) -> list[str]:
    rows = await mirror.rows("SELECT name, number FROM archive_parts WHERE archive = $1 AND NOT spare", archive)
    return [row["name"] for row in sorted(rows, key=lambda row: position(kind, row["number"]))]


async def test_s75_three_volumes_are_one_archive(mirror: Mirror, channel: Channel) -> None:
    """S-75: the last one smaller."""
    names = [f"x.part{number}.rar" for number in (1, 2, 3)]
    post(mirror, channel, *names)
    assert await parts(mirror) == [(ArchiveKind.RAR_PARTS, names)]


async def test_s76_ten_volumes_are_in_order_of_their_numbers(mirror: Mirror, channel: Channel) -> None:
    """S-76: posted in any order, 1 to 10 and not 1, 10, 2."""
    names = [f"x.part{number:02}.rar" for number in range(1, 11)]
    for name in [*names[4:9], *names[:4]]:
        post(mirror, channel, name, last=1_000)
    post(mirror, channel, names[9])
    assert await parts(mirror) == [(ArchiveKind.RAR_PARTS, names)]


async def test_s77_a_part_that_comes_later_completes_the_set(mirror: Mirror, channel: Channel) -> None:
    """S-77: collecting, then one archive of three parts; not two."""
    world = mirror.world
    for name, size in (("x.part1.rar", 1_000), ("x.part3.rar", 400)):
        world.post(channel, file=world.add_file(name, size))
    await mirror.cycle()
    assert [one["state"] for one in await shown(mirror)] == ["collecting"]
    world.post(channel, file=world.add_file("x.part2.rar", 1_000))
    assert await parts(mirror) == [(ArchiveKind.RAR_PARTS, [f"x.part{number}.rar" for number in (1, 2, 3)])]


async def test_s78_a_part_that_never_comes_is_named(mirror: Mirror, channel: Channel) -> None:
    """S-78: after the time limit it is incomplete, and the operator sees which part is missing; then it is revived."""
    world = mirror.world
    for name, size in (("x.part1.rar", 1_000), ("x.part3.rar", 400)):
        world.post(channel, file=world.add_file(name, size))
    await mirror.cycle()
    await mirror.pass_time(days=30)
    await mirror.cycle()
    [one] = await shown(mirror)
    assert (one["state"], one["missing"], one["missing_files"]) == ("incomplete", [2], ".part2.rar")
    world.post(channel, file=world.add_file("x.part2.rar", 1_000))
    await mirror.cycle()
    assert [one["state"] for one in await shown(mirror)] == ["waiting"]


async def test_s79_old_styles_have_their_own_order(mirror: Mirror, channel: Channel) -> None:
    """S-79: z01, z02, zip; and rar, r00, r01."""
    post(mirror, channel, "x.z01", "x.z02", "x.zip")
    post(mirror, channel, "y.r00", "y.rar", "y.r01")
    found = await parts(mirror)
    assert len(found) == 2
    assert dict(found) == {ArchiveKind.ZIP: ["x.z01", "x.z02", "x.zip"], ArchiveKind.RAR: ["y.rar", "y.r00", "y.r01"]}


async def test_s80_pieces_of_three_formats_are_three_archives(mirror: Mirror, channel: Channel) -> None:
    """S-80: the same base, three kinds, each in order."""
    pieces = {
        ArchiveKind.SPLIT_7Z: [f"x.7z.00{number}" for number in (1, 2, 3)],
        ArchiveKind.SPLIT_RAR: ["x.rar.001", "x.rar.002"],
        ArchiveKind.SPLIT_ZIP: ["x.zip.001", "x.zip.002"],
    }
    for names in pieces.values():
        post(mirror, channel, *names)
    found = await parts(mirror)
    assert len(found) == 3
    assert dict(found) == pieces


async def test_s81_upper_and_lower_case_are_one(mirror: Mirror, channel: Channel) -> None:
    """S-81: two people name their parts differently."""
    post(mirror, channel, "X.PART1.RAR", "x.part2.rar")
    assert await parts(mirror) == [(ArchiveKind.RAR_PARTS, ["X.PART1.RAR", "x.part2.rar"])]


async def test_s85_the_first_scan_starts_above_an_imported_watermark(mirror: Mirror, world: World) -> None:
    """S-85: 52428800 in TDLib's units is message 50, thread 7340032 is topic 7; nothing at or below 50 is read."""
    made = world.add_channel("Imported")
    mirror.post_files(made, [f"{number:03}.zip" for number in range(2, 61)])
    await mirror.sync()
    await mirror.enable(made)
    async with mirror.database.transaction() as connection:
        kept = await channels.find(connection, str(made.id))
        await scan_memory.remember(connection, {(kept.key, 0): (imported_memory(52428800), None)})
    assert (await mirror.place(made))["watermark"] == 50
    assert topic_from_tdlib(7340032) == 7
    await mirror.cycle()
    assert await mirror.names(made) == [f"{number:03}.zip" for number in range(51, 61)]


@pytest.mark.parametrize("apart", [False, True], ids=["in one cycle", "each in its own"])
async def test_a_corrected_part_completes_its_set(mirror: Mirror, channel: Channel, apart: bool) -> None:
    """Parts 1, 2, 2 once more after a word, 3: one archive with the corrected part, and nothing left over."""
    for name in ("x.part1.rar", "x.part2.rar", None, "x.part2.rar", "x.part3.rar"):
        if name is None:
            mirror.world.post(channel, "sorry, that one was broken")
        else:
            post(mirror, channel, name)
        if apart:
            await mirror.cycle()
    assert await parts(mirror) == [(ArchiveKind.RAR_PARTS, ["x.part1.rar", "x.part2.rar", "x.part3.rar"])]
    rows = await mirror.rows("SELECT message FROM archive_parts WHERE NOT spare ORDER BY message")
    posted = sorted(number for number, message in channel.messages.items() if message.file)
    assert [row["message"] for row in rows] == [posted[0], *posted[2:]]


async def test_parts_that_leave_a_set_are_no_longer_in_it(mirror: Mirror, channel: Channel) -> None:
    """A new part 1 filled the hole of an old set; its own part 2 comes in a later cycle, and takes it along."""
    post(mirror, channel, "x.part2.rar", "x.part3.rar")
    await mirror.cycle()
    for number in range(30):
        mirror.world.post(channel, f"word {number}")
    post(mirror, channel, "x.part1.rar")
    await mirror.cycle()
    post(mirror, channel, "x.part2.rar")
    await mirror.cycle()
    rows = await mirror.rows("SELECT message, count(*) AS times FROM archive_parts WHERE NOT spare GROUP BY message")
    assert {row["times"] for row in rows} == {1}
    assert len(rows) == 4
