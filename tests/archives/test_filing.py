"""Archives reach their destination: the real client against the loopback Telegram and its own record."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from pathlib import Path

import pytest

from tests.archives.filing_scene import Scene
from tests.archives.zip_writer import zipped
from tests.scenes.telegram_mirror import Mirror, make_mirror
from tests.waiting import PATIENCE
from tidegate.archives.filing.queues import FilingResult
from tidegate.archives.queries import filing_queue
from tidegate.channels.queries import channels
from tidegate.core.account import Claim
from tidegate.core.errors import NotOurs
from tidegate.core.ids import ChannelId
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World

MIB = 1024 * 1024


@pytest.fixture
async def scene(mirror: Mirror, world: World, tmp_path: Path) -> Scene:
    """A channel whose archives are filed into another."""
    source, vault = world.add_channel("Models"), world.add_channel("Vault")
    await mirror.sync()
    await mirror.enable(source, destination=vault)
    return Scene(mirror, source, vault, tmp_path / "work")


@pytest.fixture
async def protected(scene: Scene) -> Scene:
    """The same, where the source lets nothing be copied."""
    scene.source.protected = True
    await scene.mirror.sync()
    return scene


# By copy


async def test_s49_an_unprotected_set_costs_one_send(scene: Scene) -> None:
    """S-49: copied on the server: one send, nothing downloaded, nothing uploaded."""
    file = scene.world.add_content("a.zip", zipped("gate.stl"))
    await scene.found(file)
    async with scene.mirror.counted() as calls:
        assert await scene.file() == FilingResult(filed=1)
    assert calls == {"messages.sendMedia": 1}
    assert scene.delivered == [file]
    [archive], [delivery] = await scene.archives(), await scene.deliveries()
    assert (archive["state"], archive["filed_at"] is not None) == ("filed", True)
    assert (delivery["state"], delivery["message"]) == ("sent", scene.vault.newest_id)
    [told] = await scene.mirror.rows("SELECT data FROM events WHERE kind = 'archive.filed'")
    assert (told["data"]["destination"], told["data"]["messages"]) == (scene.vault.id, [scene.vault.newest_id])
    assert await scene.file() == FilingResult()


async def test_s49_a_copy_with_an_expired_handle_fetches_its_message(scene: Scene) -> None:
    """S-48, S-49: the message is read again, and the copy is made under the same key; no attempt is consumed."""
    file = scene.world.add_content("a.zip", zipped("gate.stl"))
    await scene.found(file)
    file.generation += 1
    async with scene.mirror.counted() as calls:
        assert await scene.file() == FilingResult(filed=1)
    assert calls == {"messages.sendMedia": 2, "channels.getMessages": 1}
    assert (len(scene.delivered), await scene.failures()) == (1, [])


async def test_a_copy_that_is_refused_becomes_an_upload(scene: Scene) -> None:
    """S-50: the channel was protected since we looked; the platform says no, and the bytes go the long way."""
    file = scene.world.add_content("a.zip", zipped("gate.stl"))
    await scene.found(file)
    scene.source.protected = True
    async with scene.mirror.counted() as calls:
        assert await scene.file() == FilingResult(filed=1)
    assert calls == {"messages.sendMedia": 2, "upload.getFile": 1, "upload.saveFilePart": 1}
    [posted] = scene.delivered
    assert (posted.id != file.id, posted.sha256()) == (True, file.sha256())
    assert await scene.failures() == []


async def test_s53_all_parts_are_delivered_in_manifest_order(scene: Scene) -> None:
    """S-53, S-79: four parts posted in any order arrive as z01, z02, z03, zip, and the ids of all four are stored."""
    names = ["x.zip", "x.z02", "x.z01", "x.z03"]
    await scene.found(*[scene.world.add_file(name, 900) for name in names])
    assert await scene.file() == FilingResult(filed=1)
    assert [file.name for file in scene.delivered] == ["x.z01", "x.z02", "x.z03", "x.zip"]
    assert [row["message"] for row in await scene.deliveries()] == sorted(
        number for number, message in scene.vault.messages.items() if message.file
    )


# By upload


async def test_s50_a_protected_source_is_never_copied(protected: Scene) -> None:
    """S-50: downloaded and uploaded, with no copy attempted; byte for byte the same, and hashed on the way."""
    file = protected.world.add_content("a.zip", zipped("gate.stl"))
    await protected.found(file)
    async with protected.mirror.counted() as calls:
        assert await protected.file() == FilingResult(filed=1)
    assert calls == {"upload.getFile": 1, "upload.saveFilePart": 1, "messages.sendMedia": 1}
    assert [posted.sha256() for posted in protected.delivered] == [file.sha256()]
    [archive] = await protected.archives()
    assert archive["content"].hex() == file.sha256()
    assert protected.lying == []


async def test_s52_twelve_million_bytes_are_23_parts_and_one_send(protected: Scene) -> None:
    """S-52: parts of 512 KiB, the last one shorter, then one send; the download takes a call a mebibyte."""
    await protected.found(protected.world.add_file("big.pdf", 12_000_000))
    async with protected.mirror.counted() as calls:
        assert await protected.file() == FilingResult(filed=1)
    assert calls == {"upload.getFile": 12, "upload.saveBigFilePart": 23, "messages.sendMedia": 1}


async def test_s54_a_part_above_the_limit_is_cut_alone(protected: Scene) -> None:
    """S-54: exactly the limit is one piece; a byte more is two, and together they are the file."""
    protected.largest = MIB
    fits, large = protected.world.add_file("a.pdf", MIB), protected.world.add_file("b.pdf", MIB + 1)
    await protected.found(fits, large)
    assert await protected.file() == FilingResult(filed=2)
    posted = {file.name: file for file in protected.delivered}
    assert sorted(posted) == ["a.pdf", "b.pdf.001", "b.pdf.002"]
    first, second = posted["b.pdf.001"], posted["b.pdf.002"]
    assert first.read(0, MIB) + second.read(0, MIB) == large.read(0, 2 * MIB)


async def test_s54_a_part_that_began_in_pieces_goes_on_in_them(protected: Scene) -> None:
    """S-54, S-56: the account may send larger files by now; the rest is still cut as the first piece was."""
    protected.largest = MIB
    large = protected.world.add_file("b.pdf", 3 * MIB)
    await protected.found(large)

    async def one_is_there() -> bool:
        rows = await protected.mirror.rows("SELECT FROM deliveries WHERE state = 'sent'")
        return len(rows) == 1

    async with protected.cut_off(one_is_there):
        protected.largest = 2 * MIB
        assert await protected.file() == FilingResult(filed=1)
    assert [file.name for file in protected.delivered] == ["b.pdf.001", "b.pdf.002", "b.pdf.003"]
    assert b"".join(file.read(0, MIB) for file in protected.delivered) == large.read(0, 3 * MIB)


async def test_s84_a_name_with_a_path_stays_in_the_folder(protected: Scene) -> None:
    """S-84: nothing is written outside the work folder, and the destination sees a safe name."""
    await protected.found(protected.world.add_file("../../x.pdf", 5 * MIB))
    outside = {path for path in protected.folder.parent.iterdir() if path != protected.folder}

    async def lies() -> bool:
        return bool(protected.lying)

    async with protected.cut_off(lies):
        assert all(path.name.startswith("0001 x.pdf") for path in protected.lying)
    assert await protected.file() == FilingResult(filed=1)
    assert [file.name for file in protected.delivered] == ["x.pdf"]
    assert {path for path in protected.folder.parent.iterdir() if path != protected.folder} == outside


# Cut off and gone on with


async def test_s51_a_send_of_unknown_outcome_is_repeated_under_its_key(scene: Scene) -> None:
    """S-51: the platform took it and the connection broke: the repeated send is known, and its message is found."""
    await scene.found(scene.world.add_content("a.zip", zipped("gate.stl")))
    scene.world.faults.add(Fault(FaultKind.DROP_AFTER_ACCEPT, "messages.sendMedia"))
    assert await scene.file() == FilingResult(filed=1)
    assert len(scene.delivered) == 1
    assert len(scene.world.record.sends) == 1
    [delivery] = await scene.deliveries()
    assert delivery["message"] == scene.vault.newest_id


async def forget_the_end(scene: Scene) -> None:
    """As if the worker had been killed after the platform took the message and before that was written down."""
    await scene.mirror.rows("UPDATE deliveries SET state = 'sending', message = NULL, sent_at = NULL")
    await scene.mirror.rows("UPDATE archives SET state = 'working'")


async def test_a_message_without_a_known_number_is_not_named(scene: Scene) -> None:
    """The platform does not always give it: the event names those that are known, and never null."""
    await scene.found(*[scene.world.add_file(name, 900) for name in ("x.z01", "x.zip")])
    await scene.file()
    await scene.mirror.rows("UPDATE deliveries SET message = NULL WHERE number = 1")
    await scene.mirror.rows("UPDATE archives SET state = 'waiting'")
    assert await scene.file() == FilingResult(filed=1)
    first, again = await scene.mirror.rows("SELECT data FROM events WHERE kind = 'archive.filed' ORDER BY id")
    assert len(first["data"]["messages"]) == 2
    assert again["data"]["messages"] == first["data"]["messages"][1:]


async def test_s51_a_send_in_doubt_is_looked_for_before_a_refusal_is_believed(scene: Scene) -> None:
    """S-51: it was taken before; that it is refused now does not make it be sent another way."""
    await scene.found(scene.world.add_content("a.zip", zipped("gate.stl")))
    await scene.file()
    await forget_the_end(scene)
    scene.world.faults.add(Fault(FaultKind.ERROR, "messages.sendMedia", code="400 MEDIA_INVALID"))
    assert await scene.file() == FilingResult(filed=1)
    [delivery] = await scene.deliveries()
    assert (len(scene.delivered), delivery["message"]) == (1, scene.vault.newest_id)


async def test_s51_another_account_looks_before_it_sends(scene: Scene) -> None:
    """S-45, S-51: a key means nothing from another account, so what the first may have sent is looked for."""
    await scene.found(scene.world.add_content("a.zip", zipped("gate.stl")))
    await scene.file()
    await forget_the_end(scene)
    mine = scene.mirror
    theirs = await make_mirror(mine.database, mine.telegram, mine.call_log, "other", "+1000002")
    await theirs.sync()
    await mine.rows("UPDATE channels SET reader = $1", theirs.account.id)
    other = Scene(theirs, scene.source, scene.vault, scene.folder)
    async with mine.counted() as calls:
        assert await other.file() == FilingResult(filed=1)
    assert calls["messages.sendMedia"] == 0
    [delivery] = await scene.deliveries()
    assert (len(scene.delivered), delivery["message"]) == (1, scene.vault.newest_id)
    assert theirs.lane is not None
    await theirs.lane.close()


async def test_s48_s55_a_download_goes_on_where_it_was_cut_off(protected: Scene) -> None:
    """S-48, S-55: a new owner fetches what was not written, with a new handle when the old one has expired meanwhile;
    nothing is left on the disk."""
    file = protected.world.add_file("big.pdf", 40 * MIB)
    await protected.found(file)
    record = protected.world.record

    async def under_way() -> bool:
        return record.by_method()["upload.getFile"] >= 10

    async with protected.mirror.counted() as calls, protected.cut_off(under_way):
        file.generation += 1
        assert await protected.file() == FilingResult(filed=1)
    repeated, expired = 4, 4
    assert 40 < calls["upload.getFile"] <= 40 + repeated + expired
    assert calls["channels.getMessages"] == 1
    assert [posted.sha256() for posted in protected.delivered] == [file.sha256()]
    assert (protected.lying, await protected.failures()) == ([], [])


async def test_s56_only_what_is_not_on_record_is_uploaded_again(protected: Scene) -> None:
    """S-56: two of four parts were acknowledged and recorded when the worker went: two are uploaded afterwards."""
    file = protected.world.add_file("a.pdf", 2 * MIB)
    await protected.found(file)
    protected.world.faults.add(Fault(FaultKind.TIMEOUT, "upload.saveFilePart", count=2))

    async def two_are_on_record() -> bool:
        rows = await protected.mirror.rows("SELECT sum(upper(s) - lower(s)) AS n FROM deliveries, unnest(saved) AS s")
        return rows[0]["n"] == 2

    async with protected.cut_off(two_are_on_record), protected.mirror.counted() as calls:
        assert await protected.file() == FilingResult(filed=1)
    assert calls["upload.saveFilePart"] == 2
    assert (calls["upload.getFile"], calls["messages.sendMedia"]) == (0, 1)
    assert [posted.sha256() for posted in protected.delivered] == [file.sha256()]


async def test_an_upload_of_yesterday_begins_anew(protected: Scene) -> None:
    """Platforms keep parts for hours at most: what was acknowledged long ago is handed over again."""
    file = protected.world.add_file("a.pdf", 2 * MIB)
    await protected.found(file)
    protected.world.faults.add(Fault(FaultKind.ERROR, "messages.sendMedia", code="400 MEDIA_INVALID"))
    assert await protected.file() == FilingResult(failed=1)
    await protected.mirror.pass_time(days=1)
    await protected.mirror.cycle()
    async with protected.mirror.counted() as calls:
        assert await protected.file() == FilingResult(filed=1)
    assert (calls["upload.saveFilePart"], calls["messages.sendMedia"]) == (4, 1)


async def test_parts_that_the_platform_lost_are_uploaded_anew(protected: Scene) -> None:
    """An upload whose parts are gone begins under another number; one message comes of it."""
    file = protected.world.add_file("a.pdf", 2 * MIB)
    await protected.found(file)
    protected.world.faults.add(Fault(FaultKind.ERROR, "messages.sendMedia", code="400 MEDIA_INVALID"))
    assert await protected.file() == FilingResult(failed=1)
    protected.world.parts.clear()
    await protected.mirror.cycle()
    async with protected.mirror.counted() as calls:
        assert await protected.file() == FilingResult(filed=1)
    assert (calls["upload.saveFilePart"], calls["messages.sendMedia"]) == (4, 2)
    assert [posted.sha256() for posted in protected.delivered] == [file.sha256()]


async def test_s60_without_a_beat_the_work_ends(protected: Scene) -> None:
    """S-60: a worker that may not call any more stops for real, and the next owner of the account resumes."""
    await protected.found(protected.world.add_file("big.pdf", 30 * MIB))
    lane, account = protected.mirror.lane, protected.mirror.account
    assert lane is not None
    turn = asyncio.create_task(protected.file())
    record = protected.world.record
    async with asyncio.timeout(PATIENCE):
        while record.by_method()["upload.getFile"] < 5:
            await asyncio.sleep(0)
    lane.gate.claim = lambda: Claim(account.id, 0, float("-inf"))
    with pytest.raises(NotOurs):
        await turn
    before = record.by_method()["upload.getFile"]
    assert before < 30
    await protected.mirror.connect()
    assert await protected.file() == FilingResult(filed=1)


# Failures


async def test_s34_success_on_the_second_attempt_closes_the_failure(protected: Scene) -> None:
    """S-34: one archive in the destination, and nothing on record as failed."""
    await protected.found(protected.world.add_content("a.zip", zipped("gate.stl")))
    protected.world.faults.add(Fault(FaultKind.ERROR, "messages.sendMedia", code="400 MEDIA_INVALID"))
    assert await protected.file() == FilingResult(failed=1)
    [failure] = await protected.failures()
    assert (failure["reason"], failure["attempts"]) == ("upload", 1)
    assert "MEDIA_INVALID" in failure["detail"]
    assert protected.delivered == []
    assert (await protected.mirror.cycle()).failures_retried == 1
    assert await protected.file() == FilingResult(filed=1)
    assert (len(protected.delivered), await protected.failures()) == (1, [])


async def test_s40_a_file_of_another_size_is_not_kept(protected: Scene) -> None:
    """S-40: fewer bytes than announced are a failure ``download``; the broken file goes, the next try may succeed."""
    file = protected.world.add_file("a.pdf", 3 * MIB)
    await protected.found(file)
    file.size = 2 * MIB + 7
    assert await protected.file() == FilingResult(failed=1)
    [failure] = await protected.failures()
    assert failure["reason"] == "download"
    assert protected.lying == []
    file.size = 3 * MIB
    await protected.mirror.cycle()
    assert await protected.file() == FilingResult(filed=1)


async def test_s38_what_is_too_large_is_not_touched(protected: Scene) -> None:
    """S-38: above the operator's limit nothing is downloaded; raised, it is due by itself and filed."""
    await protected.found(protected.world.add_file("a.pdf", 3 * MIB))
    retries = protected.retries
    protected.retries = type(retries)(size_limit=MIB)
    async with protected.mirror.counted() as calls:
        assert await protected.file() == FilingResult(failed=1)
    assert calls == {}
    protected.retries = retries
    await protected.mirror.cycle()
    assert await protected.file() == FilingResult(filed=1)


async def test_being_told_to_wait_is_no_attempt(scene: Scene) -> None:
    """S-42: the lane waits, the send is repeated, and nothing is on record as failed."""
    await scene.found(scene.world.add_content("a.zip", zipped("gate.stl")))
    scene.world.faults.add(Fault(FaultKind.WAIT, "messages.sendMedia", seconds=1))
    assert await scene.file() == FilingResult(filed=1)
    assert (len(scene.delivered), await scene.failures()) == (1, [])


async def test_s39_a_source_that_is_gone_closes_the_set(protected: Scene) -> None:
    """S-39: its message was deleted and its handle has expired: nothing is left to try, and nothing lies about."""
    file = protected.world.add_file("a.pdf", 3 * MIB)
    await protected.found(file)
    file.generation += 1
    protected.world.delete(protected.source, [protected.source.newest_id])
    assert await protected.file() == FilingResult(failed=1)
    assert [row["state"] for row in await protected.archives()] == ["gone"]
    assert protected.lying == []


# Told apart by content


async def test_s82_a_set_posted_twice_is_uploaded_once(protected: Scene) -> None:
    """S-82: the second is known by its content, flagged, and not delivered again; both are on record."""
    whole = os.urandom(2_000)
    add = protected.world.add_content
    await protected.found(add("x.zip.001", whole[:1_500]), add("x.zip.002", whole[1_500:]))
    assert await protected.file() == FilingResult(filed=1)
    await protected.found(add("x.zip.001", whole[:1_500]), add("x.zip.002", whole[1_500:]))
    assert await protected.file() == FilingResult(duplicates=1)
    first, second = await protected.archives()
    assert (second["duplicate_of"], second["flags"]) == (first["id"], [*first["flags"], "duplicate"])
    assert second["content"] == first["content"]
    assert len(protected.world.record.uploads) == 2
    assert [file.name for file in protected.delivered] == ["x.zip.001", "x.zip.002"]


async def test_s82_a_set_that_only_begins_alike_is_delivered(protected: Scene) -> None:
    """S-82: the same first part and sizes are not enough; every byte counts."""
    add = protected.world.add_content
    await protected.found(add("x.zip.001", b"1" * 900), add("x.zip.002", b"2" * 300))
    await protected.file()
    await protected.found(add("x.zip.001", b"1" * 900), add("x.zip.002", b"3" * 300))
    assert await protected.file() == FilingResult(filed=1)
    assert len(protected.delivered) == 4


async def test_s82_hashes_also_tell_copies_apart(scene: Scene) -> None:
    """S-82: with --hash what could be copied is read before, and a second posting is not copied again."""
    await scene.mirror.enable(scene.source, hashed=True, destination=scene.vault)
    content = zipped("gate.stl")
    await scene.found(scene.world.add_content("a.zip", content))
    assert await scene.file() == FilingResult(filed=1)
    await scene.found(scene.world.add_content("b.zip", content))
    assert await scene.file() == FilingResult(duplicates=1)
    assert (len(scene.delivered), scene.world.record.uploads) == (1, [])


async def test_s83_two_owners_with_one_content_upload_it_once(protected: Scene, world: World, tmp_path: Path) -> None:
    """S-83: the same set in two channels, filed by two accounts at once: one upload, both sources on record."""
    mine = protected.mirror
    theirs = await make_mirror(mine.database, mine.telegram, mine.call_log, "other", "+1000002")
    second = world.add_channel("Copies")
    second.protected = True
    await theirs.sync()
    await theirs.enable(second, destination=protected.vault)
    await mine.rows("UPDATE channels SET reader = $1 WHERE number = $2", theirs.account.id, second.id)
    other = Scene(theirs, second, protected.vault, tmp_path / "work")
    content = os.urandom(3 * MIB)
    for channel in (protected.source, second):
        world.post(channel, file=world.add_content("same.pdf", content))
    await protected.find()
    await other.find()
    ended = await asyncio.gather(protected.file(), other.file())
    assert sum(told.filed for told in ended) == 1
    await protected.file()
    await other.file()
    first, again = await protected.archives()
    assert {first["state"], again["state"]} == {"filed"}
    assert {first["duplicate_of"], again["duplicate_of"]} in ({None, first["id"]}, {None, again["id"]})
    assert (len(protected.delivered), len(world.record.uploads)) == (1, 1)
    assert theirs.lane is not None
    await theirs.lane.close()


async def test_hashes_without_a_destination(scene: Scene) -> None:
    """With --hash alone sets are read, told apart and filed where they are; nothing is sent."""
    await scene.mirror.enable(scene.source, hashed=True)
    content = zipped("gate.stl")
    file = scene.world.add_content("a.zip", content)
    await scene.found(file, scene.world.add_content("b.zip", content))
    assert await scene.file() == FilingResult(filed=1, duplicates=1)
    assert [row["content"].hex() for row in await scene.archives()] == [file.sha256()] * 2
    assert (scene.delivered, scene.lying) == ([], [])


# What lies about, and what changes meanwhile


async def test_leftovers_of_ended_sets_are_removed(protected: Scene) -> None:
    """A turn removes what lies there of sets that ended or never were, and leaves a stranger's file alone.

    Invariant: everything-kept-ends.
    """
    for name in ("77", "78"):
        (protected.folder / name).mkdir(parents=True)
        (protected.folder / name / "0001 x.part").write_bytes(b"old")
    (protected.folder / "notes.txt").write_text("mine")
    await protected.file()
    assert [path.name for path in protected.lying] == ["notes.txt"]


async def test_parts_that_change_are_read_again(scene: Scene) -> None:
    """A set that loses a part and gets another after it was read is read anew before it is delivered."""
    await scene.found(scene.world.add_content("a.zip", zipped("gate.stl")))
    [before] = await scene.archives()
    assert before["indexed_at"] is not None
    changed = zipped("door.stl")
    scene.world.edit(scene.source, scene.source.newest_id, file=scene.world.add_content("a.zip", changed))
    await scene.mirror.cycle()
    states = [(row["state"], row["indexed_at"]) for row in await scene.archives()]
    assert all(state != "waiting" or indexed is None for state, indexed in states)
    await scene.find()
    await scene.file()
    assert len(scene.delivered) == 1
    assert scene.delivered[0].read(0, MIB) == changed


async def test_wishes_withdrawn_leave_nothing_to_do(scene: Scene) -> None:
    """A set that waited for its delivery is filed as it is when the operator no longer wants it delivered."""
    await scene.found(scene.world.add_content("a.zip", zipped("gate.stl")))
    await scene.mirror.enable(scene.source)
    async with scene.mirror.counted() as calls:
        assert await scene.file() == FilingResult(filed=1)
    assert calls == {}
    assert [row["state"] for row in await scene.archives()] == ["filed"]


async def test_archives_do_not_go_round(scene: Scene, world: World) -> None:
    """From the vault back to the source they would come and go for ever, and so would they over a third channel."""
    third = world.add_channel("Third")
    await scene.mirror.sync()
    await scene.mirror.enable(scene.vault, destination=third)
    async with scene.mirror.database.connection() as connection:
        keys = {one.number: one.key for one in await channels.listing(connection)}
        source, vault, last = (keys[ChannelId(one.id)] for one in (scene.source, scene.vault, third))
        assert await filing_queue.goes_round(connection, vault, source)
        assert await filing_queue.goes_round(connection, last, source)
        assert not await filing_queue.goes_round(connection, source, last)


async def test_progress_is_told(protected: Scene) -> None:
    """The feed shows the progress of a transfer, at most once a second."""
    await protected.found(protected.world.add_file("big.pdf", 24 * MIB))
    protected.mirror.telegram.latency = timedelta(seconds=0.1)
    await protected.file()
    rows = await protected.mirror.rows("SELECT data FROM events WHERE kind = 'archive.progressed'")
    told = [row["data"] for row in rows]
    assert {one["doing"] for one in told} <= {"downloading", "uploading"}
    assert all(0 < one["done"] <= one["size"] for one in told)
    assert told


async def test_a_refused_copy_is_remembered_for_its_channel(scene: Scene) -> None:
    """Ten sets of a channel that is protected since we looked: one refusal, and all of them go the long way."""
    await scene.found(*[scene.world.add_content(f"{n}.zip", zipped(f"{n}.stl")) for n in range(10)])
    scene.source.protected = True
    async with scene.mirror.counted() as calls:
        assert await scene.file() == FilingResult(filed=10)
    assert calls["messages.sendMedia"] == 1 + 10
    assert (len(scene.delivered), await scene.failures()) == (10, [])


async def test_a_refused_copy_is_remembered_whatever_the_channel_says_of_itself(scene: Scene) -> None:
    """The platform refuses although the channel is not marked as protected: cycles in between do not forget that, and
    after a week copying is tried again."""
    refused = "400 CHAT_FORWARDS_RESTRICTED"
    await scene.found(scene.world.add_content("a.zip", zipped("a.stl")))
    scene.world.faults.add(Fault(FaultKind.ERROR, "messages.sendMedia", code=refused))
    await scene.file()
    await scene.found(scene.world.add_content("b.zip", zipped("b.stl")))
    async with scene.mirror.counted() as calls:
        assert await scene.file() == FilingResult(filed=1)
    assert calls == {"upload.getFile": 1, "upload.saveFilePart": 1, "messages.sendMedia": 1}
    await scene.mirror.pass_time(days=8)
    await scene.found(scene.world.add_content("c.zip", zipped("c.stl")))
    async with scene.mirror.counted() as calls:
        assert await scene.file() == FilingResult(filed=1)
    assert calls == {"messages.sendMedia": 1}
