"""Sets worked off with the real client against the loopback Telegram."""

from __future__ import annotations

import gzip
import lzma
import struct
from typing import Any

import pytest

from tests.archives.rar_writer import Habits, Stored, in_volumes, rar4, rar5
from tests.archives.seven_zip_samples import DRAGON, sample
from tests.archives.tar_writer import noisy, tarred
from tests.archives.zip_writer import zipped
from tests.scenes.telegram_mirror import Mirror
from tidegate.archives.contents_indexer import IndexingResult, index_waiting_sets
from tidegate.archives.formats.sandbox import SandboxLimits
from tidegate.archives.queries import archive_list
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import MirrorOptions
from tidegate.core.errors import SignedOut
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel
from tidegate.loopback.telegram.world.file_content import File
from tidegate.loopback.telegram.world.zips import sparse_zip

GIB = 1 << 30
ONE_FILE = [Stored(b"old.stl", 500)]


@pytest.fixture
async def channel(mirror: Mirror, world: World) -> Channel:
    """An enabled channel with nothing in it."""
    made = world.add_channel("Models")
    await mirror.sync()
    await mirror.enable(made)
    return made


async def work(mirror: Mirror, **how: Any) -> IndexingResult:
    assert mirror.lane is not None
    return await index_waiting_sets(mirror.lane, mirror.database, how.pop("policy", RetryPolicy()), **how)


async def found(mirror: Mirror, channel: Channel, *files: File) -> list[int]:
    """Post files and let cycles find them; the messages they are in."""
    posted = [mirror.world.post(channel, file=file).id for file in files]
    await mirror.cycle()
    await mirror.pass_time(hours=2)
    await mirror.cycle()
    return posted


async def states(mirror: Mirror) -> dict[str, str]:
    return {row["name"]: row["state"] for row in await mirror.rows("SELECT name, state FROM archives")}


async def inside(mirror: Mirror) -> list[str]:
    return [row["path"] for row in await mirror.rows("SELECT path FROM archive_contents ORDER BY archive, number")]


async def events(mirror: Mirror, kind: str) -> list[dict[str, Any]]:
    return [row["data"] for row in await mirror.rows("SELECT data FROM events WHERE kind = $1 ORDER BY id", kind)]


async def test_two_gibibytes_are_indexed_with_less_than_one_mebibyte(mirror: Mirror, channel: Channel) -> None:
    """A zip is read from its tail: the platform's own record of what it gave out stays under 1 MiB."""
    size, pieces = sparse_zip([(f"tower/{number:04}.stl", 1 << 20) for number in range(2_048)])
    assert size > 2 * GIB
    await found(mirror, channel, mirror.world.add_file("towers.zip", size, pieces=pieces))
    async with mirror.counted() as calls:
        assert await work(mirror) == IndexingResult(indexed=1)
    assert set(calls) == {"upload.getFile"}
    assert calls["upload.getFile"] * 64 * 1024 < 1 << 20
    assert len(await inside(mirror)) == 2_048
    assert await states(mirror) == {"towers.zip": "filed"}
    [told] = await events(mirror, "archive.filed")
    assert (told["contents"], told["flags"]) == (2_048, [])


async def test_pieces_of_a_zip_are_read_as_one(mirror: Mirror, channel: Channel) -> None:
    """S-80: the directory may lie across the border of two pieces."""
    whole = zipped(*[f"dragon/{number:03}.stl" for number in range(90)])
    cut = len(whole) - 300
    add = mirror.world.add_content
    await found(mirror, channel, add("d.zip.001", whole[:cut]), add("d.zip.002", whole[cut:]))
    assert await work(mirror) == IndexingResult(indexed=1)
    assert len(await inside(mirror)) == 90


async def test_a_zip_that_asks_for_more_volumes_collects_again(mirror: Mirror, channel: Channel) -> None:
    """S-77, S-79: the end record knows how many there are, so a set that only looked whole waits for the rest."""
    whole = bytearray(zipped(*[f"{number}.stl" for number in range(40)]))
    struct.pack_into("<HH", whole, whole.rindex(b"PK\x05\x06") + 4, 2, 2)
    first, second, last = whole[:900], whole[900:1_800], whole[1_800:]
    add = mirror.world.add_content
    await found(mirror, channel, add("s.z01", bytes(first)), add("s.zip", bytes(last)))
    assert await work(mirror) == IndexingResult(reopened=1)
    await mirror.cycle()
    assert await states(mirror) == {"s.z01": "collecting"}
    assert await work(mirror) == IndexingResult()
    await found(mirror, channel, add("s.z02", bytes(second)))
    assert await work(mirror) == IndexingResult(indexed=1)
    assert (await states(mirror), len(await inside(mirror))) == ({"s.z01": "filed"}, 40)


async def test_a_damaged_zip_is_filed_with_a_flag(mirror: Mirror, channel: Channel) -> None:
    """S-41: kept, flagged, with an empty list; not a failure."""
    await found(mirror, channel, mirror.world.add_content("broken.zip", b"PK" + b"?" * 500))
    assert await work(mirror) == IndexingResult(indexed=1)
    [row] = await mirror.rows("SELECT state, flags FROM archives")
    assert (row["state"], row["flags"]) == ("filed", ["damaged"])
    assert await mirror.rows("SELECT * FROM failures") == []


async def test_an_expired_handle_costs_one_fetch_and_no_attempt(mirror: Mirror, channel: Channel) -> None:
    """S-48: the message is fetched again and reading goes on; the next reading knows the new handle."""
    file = mirror.world.add_content("late.zip", zipped("a.stl"))
    await found(mirror, channel, file)
    file.generation += 1
    async with mirror.counted() as calls:
        assert await work(mirror) == IndexingResult(indexed=1)
    assert calls == {"upload.getFile": 2, "channels.getMessages": 1}
    await mirror.rows("UPDATE archives SET state = 'waiting', indexed_at = NULL")
    async with mirror.counted() as calls:
        await work(mirror)
    assert calls == {"upload.getFile": 1}


async def test_a_failure_is_on_record_and_is_tried_again(mirror: Mirror, channel: Channel) -> None:
    """S-24, S-34: a reading that takes too long fails with a sentence; the next cycle hands it back."""
    await found(mirror, channel, mirror.world.add_content("many.zip", zipped(*[f"{n}" * 99 for n in range(900)])))
    assert await work(mirror, limits=SandboxLimits(seconds=0)) == IndexingResult(failed=1)
    [failure] = await mirror.rows("SELECT reason, attempts, detail FROM failures")
    assert (failure["reason"], failure["attempts"]) == ("indexing", 1)
    assert failure["detail"].endswith(".")
    assert await states(mirror) == {"many.zip": "failed"}
    assert [told["reason"] for told in await events(mirror, "archive.failed")] == ["indexing"]
    assert (await mirror.cycle()).failures_retried == 1
    assert await work(mirror) == IndexingResult(indexed=1)
    assert await mirror.rows("SELECT * FROM failures") == []
    assert len(await inside(mirror)) == 900


async def test_a_failure_is_given_up_at_its_cap(mirror: Mirror, channel: Channel) -> None:
    """S-35: after the last allowed try it waits for a person, and no call is made for it any more."""
    await found(mirror, channel, mirror.world.add_content("many.zip", zipped(*[f"{n}" * 99 for n in range(900)])))
    tight = {"limits": SandboxLimits(seconds=0), "policy": RetryPolicy(cap=2)}
    await work(mirror, **tight)
    await mirror.cycle()
    await work(mirror, **tight)
    assert await states(mirror) == {"many.zip": "given_up"}
    assert [told["next_try_at"] is None for told in await events(mirror, "archive.failed")] == [False, True]


async def test_a_source_that_is_gone_closes_the_set(mirror: Mirror, channel: Channel) -> None:
    """S-39: the handle expired and its message no longer exists: nothing is left to try."""
    file = mirror.world.add_content("gone.zip", zipped("a.stl"))
    [message] = await found(mirror, channel, file)
    file.generation += 1
    mirror.world.delete(channel, [message])
    assert await work(mirror) == IndexingResult(failed=1)
    assert await states(mirror) == {"gone.zip": "gone"}
    [failure] = await mirror.rows("SELECT reason FROM failures")
    assert failure["reason"] == "source_gone"


async def test_what_is_too_large_is_held_without_a_call(mirror: Mirror, channel: Channel) -> None:
    """S-38: the limit is looked at first; raising it makes the failure due by itself."""
    await found(mirror, channel, mirror.world.add_content("large.zip", zipped("a.stl")))
    async with mirror.counted() as calls:
        assert await work(mirror, policy=RetryPolicy(size_limit=10)) == IndexingResult(failed=1)
    assert calls == {}
    [failure] = await mirror.rows("SELECT reason FROM failures")
    assert failure["reason"] == "size_limit"
    assert (await mirror.cycle()).failures_retried == 1
    assert await work(mirror) == IndexingResult(indexed=1)


async def test_a_refused_read_fails_alone(mirror: Mirror, channel: Channel) -> None:
    """One file that the platform will not give is a failure with its words; the next is worked on all the same."""
    add = mirror.world.add_content
    await found(mirror, channel, add("a.zip", zipped("a.stl")), add("b.zip", zipped("b.stl")))
    mirror.world.faults.add(Fault(FaultKind.ERROR, "upload.getFile", code="400 LOCATION_INVALID"))
    assert await work(mirror) == IndexingResult(indexed=1, failed=1)
    assert sorted((await states(mirror)).values()) == ["failed", "filed"]
    [failure] = await mirror.rows("SELECT reason, detail FROM failures")
    assert failure["reason"] == "download"
    assert "LOCATION_INVALID" in failure["detail"]


async def test_a_sign_out_is_nobodys_failure(mirror: Mirror, channel: Channel) -> None:
    """S-45: what ends the account's work leaves the set as it is; the next reader of the channel takes it again."""
    await found(mirror, channel, mirror.world.add_content("a.zip", zipped("a.stl")))
    mirror.world.faults.add(Fault(FaultKind.SIGNED_OUT, "upload.getFile"))
    with pytest.raises(SignedOut):
        await work(mirror)
    assert await mirror.rows("SELECT * FROM failures") == []


async def test_what_a_crash_left_in_hand_is_taken_again(mirror: Mirror, channel: Channel) -> None:
    """page-and-progress-together: a set that a killed worker was working on is read again, once."""
    await found(mirror, channel, mirror.world.add_content("half.zip", zipped("a.stl")))
    await mirror.rows("UPDATE archives SET state = 'working'")
    assert await work(mirror) == IndexingResult(indexed=1)
    assert await work(mirror) == IndexingResult()


async def test_a_set_to_be_delivered_goes_on_waiting(mirror: Mirror, channel: Channel, world: World) -> None:
    """Knowing what is inside is not delivering it: with a destination the set is searchable and still waits."""
    vault = world.add_channel("Vault")
    await mirror.sync()
    async with mirror.database.transaction() as connection:
        target = await channels.find(connection, str(vault.id))
        source = await channels.find(connection, str(channel.id))
        await channels.enable(connection, source, MirrorOptions(destination=target.key))
    await found(mirror, channel, mirror.world.add_content("both.zip", zipped("a.stl")))
    assert await work(mirror) == IndexingResult(indexed=1)
    assert (await states(mirror), await inside(mirror)) == ({"both.zip": "waiting"}, ["a.stl"])
    assert await work(mirror) == IndexingResult()


async def test_documents_are_filed_without_a_call(mirror: Mirror, channel: Channel) -> None:
    """A document has nothing inside."""
    await found(mirror, channel, mirror.world.add_file("plan.pdf", 900))
    async with mirror.counted() as calls:
        await work(mirror)
    assert calls == {}
    assert await states(mirror) == {"plan.pdf": "filed"}


async def test_every_kind_of_archive_is_listed_from_where_it_lies(mirror: Mirror, channel: Channel) -> None:
    """S-79, S-80: 7z, rar and tar, alone, in volumes and in pieces; a block of each part is all that is fetched."""
    add = mirror.world.add_content
    old = [rar4(held, Habits(followed=not held[-1].begun_before)).content for held in in_volumes(ONE_FILE, 300)]
    new = rar5([Stored(b"rar5.stl", 500)]).content
    packed, plain = gzip.compress(tarred([("packed.stl", 9)])), tarred([("plain.stl", 9)])
    seven = sample("packed_header")
    await found(
        mirror, channel,
        add("a.rar", old[0]), add("a.r00", old[1]), add("b.rar.001", new[:300]), add("b.rar.002", new[300:]),
        add("c.tar.gz", packed), add("d.001", plain[:5_000]), add("d.002", plain[5_000:]),
        add("e.7z.001", seven[:200]), add("e.7z.002", seven[200:]), add("f.tar.zst", b"\x28\xb5\x2f\xfd" + bytes(90)),
    )  # fmt: skip
    async with mirror.counted() as calls:
        assert await work(mirror) == IndexingResult(indexed=6)
    assert calls == {"upload.getFile": 9}  # the tar says that it ends in its first piece
    assert set(await states(mirror)) == {"a.rar", "b.rar.001", "c.tar.gz", "d.001", "e.7z.001", "f.tar.zst"}
    assert set((await states(mirror)).values()) == {"filed"}
    assert set(await inside(mirror)) == {"old.stl", "rar5.stl", "packed.stl", "plain.stl", *DRAGON}
    flagged = await mirror.rows("SELECT name, flags FROM archives WHERE flags <> '{}'")
    assert [(row["name"], row["flags"]) for row in flagged] == [("f.tar.zst", ["not_listed"])]


async def test_a_rar_that_is_followed_by_another_volume_collects_again(mirror: Mirror, channel: Channel) -> None:
    """S-77: its last volume knows that another comes, though not how many; nothing is read again until one does."""
    add = mirror.world.add_content
    volumes = [
        rar5(held, Habits(followed=number < 4)) for number, held in enumerate(in_volumes(ONE_FILE, 125), start=1)
    ]
    first, second, third, last = (
        add(f"x.part{number}.rar", held.content) for number, held in enumerate(volumes, start=1)
    )
    await found(mirror, channel, first, second)
    assert await work(mirror) == IndexingResult(reopened=1)
    await mirror.cycle()
    [row] = await mirror.rows("SELECT state, lost, volumes FROM archives")
    assert (row["state"], row["lost"], row["volumes"]) == ("collecting", [3], None)
    async with mirror.counted() as calls:
        assert await work(mirror) == IndexingResult()
    assert calls == {}
    await found(mirror, channel, third, last)
    assert await work(mirror) == IndexingResult(indexed=1)
    assert (await states(mirror), await inside(mirror)) == ({"x.part1.rar": "filed"}, ["old.stl"])


async def test_a_rar_whose_next_volume_never_comes_is_incomplete(mirror: Mirror, channel: Channel) -> None:
    """S-78: after its time the set is shown as incomplete, with the number that is missing."""
    [first, _] = in_volumes(ONE_FILE, 300)
    await found(mirror, channel, mirror.world.add_content("y.rar", rar4(first, Habits(followed=True)).content))
    assert await work(mirror) == IndexingResult(reopened=1)
    await mirror.pass_time(days=2)
    await mirror.cycle()
    [row] = await mirror.rows("SELECT state, lost FROM archives")
    assert (row["state"], row["lost"]) == ("incomplete", [1])


async def test_a_long_packed_tar_costs_few_calls(mirror: Mirror, channel: Channel) -> None:
    """Where all bytes are wanted a call brings up to half a mebibyte: three mebibytes in ten calls, not in fifty."""
    content = gzip.compress(noisy(files=3, size=1 << 20))
    await found(mirror, channel, mirror.world.add_content("noise.tar.gz", content))
    async with mirror.counted() as calls:
        assert await work(mirror) == IndexingResult(indexed=1)
    assert calls["upload.getFile"] <= 11
    assert await inside(mirror) == ["0.bin", "1.bin", "2.bin"]


# Whose turn it is


async def order(mirror: Mirror) -> list[str]:
    """The sets in the order in which their reading ended."""
    rows = await mirror.rows("SELECT subject FROM events WHERE kind IN ('archive.filed', 'archive.failed') ORDER BY id")
    return [row["subject"] for row in rows]


async def test_a_small_set_is_not_behind_a_large_one(mirror: Mirror, channel: Channel) -> None:
    """The large one was posted first and the small ones do not wait for it."""
    add = mirror.world.add_content
    large = mirror.world.add_file("large.tar", 3 * GIB)
    await found(mirror, channel, large, add("a.zip", zipped("a.stl")), add("b.zip", zipped("b.stl")))
    assert await work(mirror) == IndexingResult(indexed=3)
    assert await order(mirror) == ["a.zip", "b.zip", "large.tar"]


async def test_a_large_set_is_overtaken_only_for_so_long(mirror: Mirror, channel: Channel) -> None:
    """Small ones that come hours later are behind it, so that a busy channel cannot put it off for ever."""
    await found(mirror, channel, mirror.world.add_file("large.tar", 3 * GIB))
    await found(mirror, channel, mirror.world.add_content("late.zip", zipped("a.stl")))
    await work(mirror)
    assert await order(mirror) == ["large.tar", "late.zip"]


async def test_what_failed_before_is_read_last(mirror: Mirror, channel: Channel) -> None:
    """A set that failed comes after those never tried, though it is older; one that a person asked for does not."""
    add = mirror.world.add_content
    many = [add(name, zipped(*[f"{n}" * 99 for n in range(900)])) for name in ("bad.zip", "asked.zip")]
    await found(mirror, channel, *many)
    assert await work(mirror, limits=SandboxLimits(seconds=0)) == IndexingResult(failed=2)
    async with mirror.database.transaction() as connection:
        [asked] = await mirror.rows("SELECT id FROM archives WHERE name = 'asked.zip'")
        await archive_list.ask_again(connection, [asked["id"]])
    await found(mirror, channel, add("new.zip", zipped("a.stl")))
    assert await work(mirror) == IndexingResult(indexed=3)
    assert (await order(mirror))[2:] == ["asked.zip", "new.zip", "bad.zip"]


async def test_a_turn_ends_so_that_cycles_have_theirs(mirror: Mirror, channel: Channel) -> None:
    """Strangers decide how many sets wait: after so many the turn says that there may be more, and the next goes on."""
    await found(mirror, channel, *[mirror.world.add_content(f"{n}.zip", zipped("a.stl")) for n in range(3)])
    assert await work(mirror, most=2) == IndexingResult(indexed=2, more=True)
    assert await work(mirror, most=2) == IndexingResult(indexed=1)


async def test_one_hostile_set_stops_no_other(mirror: Mirror, channel: Channel) -> None:
    """A set that ends the child fails with its reason; the next is read by a new child."""
    greedy = lzma.compress(tarred([("b.stl", 9)]), preset=9)
    add = mirror.world.add_content
    await found(mirror, channel, add("greedy.tar.xz", greedy), add("good.zip", zipped("a.stl", "b.stl" * 30)))
    tight = SandboxLimits(memory=60 * 1024 * 1024)
    assert await work(mirror, limits=tight) == IndexingResult(indexed=1, failed=1)
    assert await states(mirror) == {"greedy.tar.xz": "failed", "good.zip": "filed"}
    [failure] = await mirror.rows("SELECT reason, detail FROM failures")
    assert (failure["reason"], "memory" in failure["detail"]) == ("indexing", True)


# Trouble that is no set's own


async def test_a_closed_channel_is_no_failure_of_its_sets(mirror: Mirror, channel: Channel) -> None:
    """The account was put out of the channel: one call finds out, the sets keep their tries, and then go on."""
    files = [mirror.world.add_content(f"{number}.zip", zipped("a.stl")) for number in range(4)]
    await found(mirror, channel, *files)
    for file in files:
        file.generation += 1
    mirror.world.faults.add(Fault(FaultKind.ERROR, "channels.getMessages", code="400 CHANNEL_PRIVATE", count=100))
    async with mirror.counted() as calls:
        assert await work(mirror) == IndexingResult()
    assert calls["channels.getMessages"] == 1
    assert (await mirror.rows("SELECT * FROM failures"), set((await states(mirror)).values())) == ([], {"waiting"})
    mirror.world.faults.clear()
    assert await work(mirror) == IndexingResult(indexed=4)


async def test_a_machine_that_starts_no_process_is_no_failure_of_a_set(
    mirror: Mirror, channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No child can be started: the turn ends, no try is used up, and the next turn reads the sets."""
    await found(mirror, channel, *[mirror.world.add_content(f"{n}.zip", zipped("a.stl")) for n in range(3)])
    with monkeypatch.context() as patch:
        patch.setattr("sys.executable", "/nowhere/python")
        assert await work(mirror) == IndexingResult(paused=True)
    assert (await mirror.rows("SELECT * FROM failures"), set((await states(mirror)).values())) == ([], {"waiting"})
    assert await work(mirror) == IndexingResult(indexed=3)
