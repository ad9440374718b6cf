"""Files are fetched: once each, whole, resumed, and with a sentence for each that is not."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from telethon.tl import types

from tests.cycles.running_scheduler import working
from tests.media.fetching_scene import PLENTY, MediaScene
from tests.scenes.telegram_mirror import Mirror, make_mirror
from tests.waiting import until
from tidegate.channels.queries import channels
from tidegate.core.errors import PlatformError
from tidegate.core.ids import ChannelId, Sha256
from tidegate.lanes import TRANSFERS
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.tl_objects.tl_json import as_plain
from tidegate.loopback.telegram.world.content.custom_emoji import know_emoji
from tidegate.loopback.telegram.world.content.message_kinds import kind_names
from tidegate.loopback.telegram.world.file_content import AWAY, Delivery, File, FileKind
from tidegate.loopback.telegram.world.pictures import photo_sizes
from tidegate.loopback.telegram.world.schema import PostSpec
from tidegate.loopback.telegram.world.world_changes import post
from tidegate.media.file_fetcher import FetchResult
from tidegate.media.queries import media_blobs
from tidegate.media.rules.fetch_retry import PAUSES
from tidegate.media.rules.media_policy import MediaAction, MediaRule, PolicyKind
from tidegate.platforms.interface import SendKey
from tidegate.platforms.telegram.files.further_files import emoji_number

KIB, MIB = 1 << 10, 1 << 20
READ, AGAIN = "upload.getFile", "channels.getMessages"


@pytest.fixture
async def scene(mirror: Mirror, world: World, tmp_path: Path) -> MediaScene:
    """A channel that is mirrored in full."""
    channel = world.add_channel("News")
    await mirror.sync()
    await mirror.enable(channel, in_full=True)
    return MediaScene(mirror, channel, tmp_path / "media")


def picture(world: World, size: int = 50_000) -> File:
    return world.add_file("a.jpg", size, kind=FileKind.PHOTO, mime="image/jpeg")


async def test_every_kind_of_file_is_kept_byte_for_byte(scene: MediaScene) -> None:
    """Wherever a message shows a file, its bytes are those that the platform has."""
    for kind in kind_names():
        post(scene.world, PostSpec(channel="News", kind=kind))
    await scene.mirrored()
    await scene.fetch()
    kept, states = await scene.kept(), await scene.states()
    assert len(kept) > 20
    known = scene.world.files
    files = {number: known[number if number in known else emoji_number(number)] for number in kept}
    assert {number: digest for number, digest in kept.items() if files[number].sha256() != digest} == {}
    others = {state for number, state in states.items() if number not in kept}
    assert {state for state, _ in others} <= {"skipped", "failed"}
    assert {reason for _, reason in others} <= {"fleeting", "protected", "size", "no_thumbnail", "thumbnail"}


async def test_custom_emoji_are_asked_for_together(scene: MediaScene) -> None:
    """Messages only name them: one call tells where all of a batch are, beside the one for their messages."""
    for number in (9_001, 9_002, 9_003):
        know_emoji(scene.world, number)
        entity = types.MessageEntityCustomEmoji(0, 2, number)
        scene.world.post(scene.channel, "🙂 ahoy", fields={"entities": [entity]})
    await scene.mirrored()
    async with scene.mirror.counted() as calls:
        assert (await scene.fetch()).kept == 3
    assert calls["messages.getCustomEmojiDocuments"] == 2, "the first file alone shows whether the store works"
    kept = await scene.kept()
    assert kept == {emoji_number(number): scene.world.files[number].sha256() for number in (9_001, 9_002, 9_003)}
    rows = await scene.mirror.rows("SELECT DISTINCT kind FROM media_files")
    assert [row["kind"] for row in rows] == ["sticker"]


async def test_a_file_costs_one_call_for_each_begun_mebibyte(scene: MediaScene) -> None:
    """The handles come with the messages, so that nothing is read twice."""
    small, large = picture(scene.world), scene.world.add_file("b.bin", 3 * MIB + 5)
    await scene.mirrored(small, large)
    async with scene.mirror.counted() as calls:
        assert await scene.fetch() == FetchResult(kept=2, bytes=small.size + large.size)
    assert calls == {READ: 1 + 4}
    assert await scene.kept() == {one.id: one.sha256() for one in (small, large)}
    assert await scene.told() == ["media.kept", "media.kept"]


async def test_the_same_file_in_many_messages_is_fetched_once(scene: MediaScene) -> None:
    """A file keeps its number when it is posted again."""
    file = picture(scene.world)
    await scene.mirrored(file, file, file)
    await scene.fetch()
    await scene.mirrored(file)
    async with scene.mirror.counted() as calls:
        assert await scene.fetch() == FetchResult()
    assert calls == {}


async def test_handles_are_renewed_a_hundred_a_call(scene: MediaScene) -> None:
    """Files that were stored without handles cost one call for all of their messages."""
    files = [picture(scene.world, 1_000) for _ in range(60)]
    await scene.mirrored(*files)
    await scene.mirror.database.pool.execute("UPDATE media_files SET handle = NULL")
    async with scene.mirror.counted() as calls:
        assert (await scene.fetch()).kept == 60
    assert calls == {READ: 60, AGAIN: 2}, "the first file alone shows whether the store works"


async def test_a_reference_that_expires_in_mid_download_is_no_failure(scene: MediaScene) -> None:
    """The message is read again, and the file is read on."""
    file = scene.world.add_file("b.bin", 5 * MIB)
    await scene.mirrored(file)
    scene.world.faults.add(Fault(FaultKind.EXPIRED_REFERENCE, READ))
    assert (await scene.fetch()).kept == 1
    assert await scene.kept() == {file.id: file.sha256()}


async def test_files_of_another_data_centre_are_read_there(scene: MediaScene) -> None:
    """Telegram says where a file is, and the call goes there."""
    file = scene.world.add_file("b.bin", 70_000, centre=AWAY)
    await scene.mirrored(file)
    assert (await scene.fetch()).kept == 1


@pytest.mark.parametrize("delivery", [Delivery.READY, Delivery.ABSENT])
async def test_files_of_the_delivery_network_are_read_there(scene: MediaScene, delivery: Delivery) -> None:
    """Telegram tells the key and the hashes; the network has it uploaded first where it has to. Each call is logged."""
    file = scene.world.add_file("b.bin", 2 * MIB + 70_001, delivery=delivery)
    await scene.mirrored(file)
    assert (await scene.fetch()).kept == 1
    assert await scene.kept() == {file.id: file.sha256()}
    asked = scene.world.record.by_method()
    assert asked["upload.getCdnFile"] >= 3
    assert asked["upload.reuploadCdnFile"] == 0 or delivery is Delivery.ABSENT
    rows = await scene.mirror.rows("SELECT method, count(*)::int AS calls FROM calls GROUP BY method")
    logged = {row["method"]: row["calls"] for row in rows}
    for method in ("upload.getFile", "upload.getCdnFile", "upload.getCdnFileHashes", "upload.reuploadCdnFile"):
        assert logged.get(method, 0) == asked[method]


async def test_false_bytes_of_the_delivery_network_are_not_kept(scene: MediaScene) -> None:
    """The network is not trusted: what Telegram's hashes do not prove is a failure with a reason."""
    file = scene.world.add_file("b.bin", 300_000, delivery=Delivery.FALSE)
    await scene.mirrored(file)
    assert (await scene.fetch()).failed == 1
    [(state, reason)] = (await scene.states()).values()
    assert (state, "other bytes than Telegram has" in reason) == ("failed", True)


async def test_a_forgotten_delivery_is_asked_for_anew(scene: MediaScene) -> None:
    """A token ends: Telegram is asked for the file again."""
    file = scene.world.add_file("b.bin", 300_000, delivery=Delivery.READY)
    await scene.mirrored(file)
    scene.world.faults.add(Fault(FaultKind.ERROR, "upload.getCdnFile", code="FILE_TOKEN_INVALID"))
    assert (await scene.fetch()).kept == 1
    assert scene.world.record.by_method()[READ] == 2


async def test_a_cut_off_download_is_resumed(scene: MediaScene) -> None:
    """After a kill only the blocks in flight are read again."""
    file = scene.world.add_file("b.bin", 12 * MIB + 1)
    await scene.mirrored(file)
    before = scene.world.record.by_method()[READ]
    fetching = asyncio.ensure_future(scene.fetch())
    await until(lambda: scene.world.record.by_method()[READ] >= before + 8)
    fetching.cancel()
    await asyncio.wait([fetching])
    await scene.fetch()
    assert await scene.kept() == {file.id: file.sha256()}
    assert scene.world.record.by_method()[READ] - before <= 13 + 4 + 1
    assert list((scene.folder / "partial").iterdir()) == []


async def test_a_false_size_is_a_failure_and_takes_no_room(scene: MediaScene) -> None:
    """A file that is said to have 4 GB and has a few bytes is tried with pauses, and given up with a sentence."""
    await scene.limit(8 << 30)
    await scene.allow(MediaRule(largest=8 << 30))
    file = scene.world.add_file("film.mkv", 4 << 30)
    scene.world.post(scene.channel, "a long film", file=file)
    await scene.mirrored()
    assert (await scene.texts())[-1] == "a long film"
    file.size = 3_000
    scene.free = 10 * MIB
    assert (await scene.fetch()).failed == 1
    for pause in PAUSES:
        await scene.mirror.pass_time(seconds=pause.total_seconds() + 1)
        assert (await scene.fetch()).failed == 1
    state, reason = (await scene.states())[file.id]
    assert (state, "announced" in reason) == ("failed", True)
    await scene.mirror.pass_time(days=9)
    assert await scene.fetch() == FetchResult()
    assert await scene.told() == ["media.failed"]


async def test_a_file_that_is_larger_than_it_said_is_not_kept(scene: MediaScene) -> None:
    """Sizes are checked while bytes arrive."""
    file = scene.world.add_file("a.bin", 1_000)
    await scene.mirrored(file)
    file.size = 5_000
    assert (await scene.fetch()).failed == 1
    exact = scene.world.add_file("b.bin", MIB)
    await scene.mirrored(exact)
    exact.size = MIB + 1
    assert (await scene.fetch()).failed == 2, "the first one was due again"
    assert await scene.kept() == {}


async def test_a_pause_of_another_run_ends_with_the_next_kept_file(scene: MediaScene) -> None:
    """A worker that never paused itself clears what a run on request wrote."""
    worker = scene.account()
    await scene.mirrored(picture(scene.world))
    assert (await worker.run()).kept == 1
    scene.free = 500
    await scene.mirrored(picture(scene.world))
    assert (await scene.fetch()).paused is not None
    scene.free = PLENTY
    assert (await worker.run()).kept == 1
    assert await scene.mirror.rows("SELECT FROM media_pauses") == []
    assert "media.resumed" in await scene.told()


async def test_a_full_disk_pauses_once_and_ends_by_itself(scene: MediaScene) -> None:
    """One notice however often it is tried, no try of a file is used up, and all goes on when there is room."""
    files = [picture(scene.world) for _ in range(3)]
    scene.free = 500
    await scene.mirrored(*files)
    account = scene.account()
    for _ in range(3):
        result = await account.run()
        assert result.paused is not None
        assert "room on the disk" in result.paused
    scene.free = PLENTY
    assert (await account.run()).kept == 3
    assert [kind for kind in await scene.told() if kind != "media.kept"] == ["media.paused", "media.resumed"]
    assert {row["attempts"] for row in await scene.mirror.rows("SELECT attempts FROM media_files")} == {0}


async def test_a_store_that_is_away_costs_no_second_download(scene: MediaScene) -> None:
    """What was fetched waits on the disk until the store takes it."""
    file = picture(scene.world)
    await scene.mirrored(file)
    digest = Sha256(bytes.fromhex(file.sha256()))
    scene.folder.mkdir()
    (scene.folder / digest.hex()[:2]).write_bytes(b"in the way")
    account = scene.account()
    result = await account.run()
    assert result.paused is not None
    assert "media folder" in result.paused
    (scene.folder / digest.hex()[:2]).unlink()
    async with scene.mirror.counted() as calls:
        assert (await account.run()).kept == 1
    assert calls == {}
    assert await scene.told() == ["media.paused", "media.kept", "media.resumed"] or (
        sorted(await scene.told()) == ["media.kept", "media.paused", "media.resumed"]
    )


async def test_the_limit_for_all_files_pauses_until_it_is_raised(scene: MediaScene) -> None:
    """Files stay wanted beyond the limit; messages are mirrored all the same."""
    await scene.limit(120_000)
    await scene.mirrored(*(picture(scene.world) for _ in range(4)))
    result = await scene.fetch()
    assert (result.kept, result.paused is not None and "--total-limit" in result.paused) == (2, True)
    assert [state for state, _ in (await scene.states()).values()].count("wanted") == 2
    await scene.limit(10**9)
    assert (await scene.fetch()).kept == 2


async def test_a_file_that_never_fits_holds_up_no_other(scene: MediaScene) -> None:
    """Larger than the limit for all files, it is skipped with that reason, and fetched once the limit is raised."""
    await scene.limit(120_000)
    await scene.mirrored(picture(scene.world), scene.world.add_content("large.bin", bytes(200_000)))
    result = await scene.fetch()
    assert (result.kept, result.skipped, result.paused) == (1, 1, None)
    assert ("skipped", "total_limit") in (await scene.states()).values()
    await scene.limit(10**9)
    assert (await scene.fetch()).kept == 1


async def test_the_limit_of_a_channel_skips_what_is_beyond(scene: MediaScene) -> None:
    """A channel that is full leaves room for others, and each file says why it is not kept."""
    await scene.mirrored(*(picture(scene.world) for _ in range(3)))
    async with scene.mirror.database.transaction() as connection:
        key = (await channels.find(connection, "News")).key
    await scene.allow(MediaRule(channel=key, whole_limit=120_000))
    assert (await scene.fetch()).kept == 2
    assert [reason for state, reason in (await scene.states()).values() if state == "skipped"] == ["channel_limit"]


async def test_blocked_bytes_are_not_kept_again(scene: MediaScene) -> None:
    """The same bytes under another number are recognised once they are there, and dropped."""
    first = scene.world.add_content("a.bin", b"unwanted")
    await scene.mirrored(first)
    await scene.fetch()
    digest = Sha256(sha256(b"unwanted").digest())
    async with scene.mirror.database.transaction() as connection:
        await media_blobs.remove(connection, digest, block=True)
    await scene.setup.store.delete(digest)
    second = scene.world.add_content("b.bin", b"unwanted")
    await scene.mirrored(second)
    assert (await scene.fetch()).skipped == 1
    assert await scene.states() == {first.id: ("skipped", "blocked"), second.id: ("skipped", "blocked")}
    assert await scene.setup.store.size(digest) is None


async def test_a_file_whose_message_is_deleted_is_gone(scene: MediaScene) -> None:
    """What nobody can fetch any more is said to be gone, and is no failure."""
    file = picture(scene.world)
    await scene.mirrored(file)
    scene.world.delete(scene.channel, [scene.channel.newest_id])
    file.generation += 1
    assert (await scene.fetch()).gone == 1
    assert (await scene.states())[file.id][0] == "gone"


async def test_of_a_large_video_the_thumbnail_is_kept(scene: MediaScene) -> None:
    """The platform's own small picture stands for a video that is larger than the limit."""
    post(scene.world, PostSpec(channel="News", kind="video"))
    await scene.allow(MediaRule(kind=PolicyKind.VIDEO, largest=2_000))
    await scene.mirrored()
    await scene.fetch()
    rows = await scene.mirror.rows("SELECT state, reason, thumbnail FROM media_files WHERE kind = 'video'")
    assert {(row["state"], row["reason"]) for row in rows} <= {("skipped", "thumbnail"), ("skipped", "no_thumbnail")}
    assert any(row["thumbnail"] for row in rows)


MOVING = ("video", "round", "animation", "sticker_animated", "sticker_video")


async def test_the_platforms_still_is_kept_beside_what_moves(scene: MediaScene) -> None:
    """Of a video, a moving sticker and a custom emoji the platform's small picture is the thumbnail."""
    for kind in MOVING:
        post(scene.world, PostSpec(channel="News", kind=kind))
    entity = types.MessageEntityCustomEmoji(0, 2, know_emoji(scene.world, 9_001).id)
    post(scene.world, PostSpec(channel="News", raw={"message": "🙂", "entities": [as_plain(entity)]}))
    await scene.mirrored()
    await scene.fetch()
    rows = await scene.mirror.rows("SELECT file, state, thumbnail FROM media_files WHERE kind <> 'avatar'")
    files = {row["file"]: scene.world.files.get(row["file"]) or scene.world.files[9_001] for row in rows}
    assert len(rows) == len(MOVING) + 1
    for row in rows:
        small = sha256(files[row["file"]].smaller["m"]).digest()
        assert (row["state"], row["thumbnail"]) == ("kept", small)


async def test_a_still_that_cannot_be_had_costs_no_file(scene: MediaScene) -> None:
    """The small picture is refused: the video is kept without one."""
    file = scene.world.add_file(
        "tide.mp4", 70_000, kind=FileKind.VIDEO, mime="video/mp4", smaller={"m": photo_sizes("tide")["x"]}
    )
    await scene.mirrored(file)
    scene.world.faults.add(Fault(FaultKind.ERROR, READ, code="LOCATION_INVALID"))
    assert (await scene.fetch()).kept == 1
    assert await scene.kept() == {file.id: file.sha256()}
    assert await scene.mirror.rows("SELECT FROM media_files WHERE thumbnail IS NOT NULL") == []


async def test_a_still_that_is_no_picture_is_not_kept(scene: MediaScene) -> None:
    """What the platform says is a picture is looked at before it is shown as one."""
    file = scene.world.add_file(
        "tide.mp4", 70_000, kind=FileKind.VIDEO, mime="video/mp4", smaller={"m": b"<script>alert(1)</script>"}
    )
    await scene.mirrored(file)
    assert (await scene.fetch()).kept == 1
    assert await scene.mirror.rows("SELECT FROM media_files WHERE thumbnail IS NOT NULL") == []
    assert list((scene.folder / "partial").iterdir()) == []


async def test_a_file_of_a_channel_that_is_lost_is_fetched_from_another(mirror: Mirror, scene: MediaScene) -> None:
    """The account lost the channel that the file was seen in; another channel shows the same file."""
    file = picture(scene.world)
    other = scene.world.add_channel("Other")
    await mirror.sync()
    await mirror.enable(other, in_full=True)
    scene.world.post(other, file=file)
    await scene.mirrored(file)
    rows = await mirror.rows("SELECT c.number FROM media_files f JOIN channels c ON c.id = f.channel")
    seen_in = scene.channel if rows[0]["number"] == scene.channel.id else other
    seen_in.members.clear()
    await mirror.rows("UPDATE media_files SET handle = NULL")
    assert (await scene.fetch()).kept == 1
    assert await scene.kept() == {file.id: file.sha256()}


async def test_nothing_is_fetched_where_the_operator_wants_nothing(scene: MediaScene) -> None:
    """A rule that says no costs no call."""
    await scene.allow(MediaRule(action=MediaAction.NO))
    await scene.mirrored(picture(scene.world))
    async with scene.mirror.counted() as calls:
        assert await scene.fetch() == FetchResult()
    assert calls == {}


async def test_trouble_of_the_platform_is_tried_again_later(scene: MediaScene) -> None:
    """A file that the platform refuses fails with its words, and succeeds on a later try."""
    file = picture(scene.world)
    await scene.mirrored(file)
    scene.world.faults.add(Fault(FaultKind.ERROR, READ, code="FILE_ID_INVALID"))
    assert (await scene.fetch()).failed == 1
    assert (await scene.states())[file.id][0] == "failed"
    assert await scene.fetch() == FetchResult(), "not before its time"
    await scene.mirror.pass_time(seconds=PAUSES[0].total_seconds() + timedelta(seconds=1).total_seconds())
    assert (await scene.fetch()).kept == 1


async def test_the_same_file_of_two_accounts_at_once_is_stored_once(
    scene: MediaScene, mirror: Mirror, world: World
) -> None:
    """Two accounts read two channels with the same file: one of them fetches it, and both messages show it."""
    other = world.add_channel("Gazette")
    other.members = {number for number, account in world.accounts.items() if account.name == "Bob"}
    second = await make_mirror(mirror.database, mirror.telegram, mirror.call_log, "second", "+1000002")
    await second.sync()
    await second.enable(other, in_full=True)
    file = picture(world)
    same = world.add_content("copy.bin", file.read(0, file.size))
    world.post(other, file=file)
    world.post(other, file=same)
    scene.post(file)
    await mirror.pass_time(hours=1)
    await asyncio.gather(mirror.cycle(), second.cycle())
    beside = MediaScene(second, other, scene.folder)
    async with mirror.counted() as calls:
        first, last = await asyncio.gather(scene.fetch(), beside.fetch())
    assert (first.kept + last.kept, calls[READ]) == (2, 2)
    assert set((await scene.kept()).values()) == {file.sha256()}
    rows = await mirror.rows("SELECT count(*) AS number FROM media_blobs")
    assert rows[0]["number"] == 1
    assert second.lane is not None
    await second.lane.close()


async def test_a_file_that_is_replaced_under_the_same_name_is_kept_as_well(scene: MediaScene) -> None:
    """An edit brings another file; the message shows the new one, and the earlier one stays until a sweep."""
    before, after = (scene.world.add_content("map.png", content) for content in (b"before", b"after"))
    await scene.mirrored(before)
    await scene.fetch()
    scene.world.edit(scene.channel, scene.channel.newest_id, file=after)
    await scene.mirrored()
    assert (await scene.fetch()).kept == 1
    assert await scene.kept() == {before.id: before.sha256(), after.id: after.sha256()}
    rows = await scene.mirror.rows("SELECT file FROM attachments")
    assert [row["file"] for row in rows] == [after.id]


async def test_a_lost_connection_costs_no_file_a_try(scene: MediaScene) -> None:
    """While the platform cannot be reached nothing is given up; the files are fetched once it can."""
    file = picture(scene.world)
    await scene.mirrored(file)
    scene.world.faults.add(Fault(FaultKind.DISCONNECT, READ, count=9))
    with pytest.raises(PlatformError):
        await scene.fetch()
    rows = await scene.mirror.rows("SELECT attempts FROM media_files")
    assert [row["attempts"] for row in rows] == [0]
    scene.world.faults.clear()
    await scene.mirror.pass_time(minutes=5)
    await scene.mirror.connect()
    assert (await scene.fetch()).kept == 1


async def test_a_file_that_breaks_every_connection_is_tried_less_and_less(scene: MediaScene) -> None:
    """The first time it costs no try. After that it waits as any failed file, so that others are fetched."""
    await scene.mirrored(picture(scene.world))
    for tries in (0, 1):
        scene.world.faults.add(Fault(FaultKind.DISCONNECT, READ, count=9))
        with pytest.raises(PlatformError):
            await scene.fetch()
        scene.world.faults.clear()
        rows = await scene.mirror.rows("SELECT attempts FROM media_files")
        assert [row["attempts"] for row in rows] == [tries]
        await scene.mirror.pass_time(minutes=5)
        await scene.mirror.connect()
    assert (await scene.fetch()).kept == 1


async def test_no_cycle_no_news_and_no_send_waits_for_files(scene: MediaScene) -> None:
    """While every call for files stays unanswered, all else is done; the platform's record shows no call between."""
    mirror, world = scene.mirror, scene.world
    assert mirror.lane is not None
    await scene.mirrored(*(picture(world, 1_000) for _ in range(12)))
    account = scene.account()
    await account.run(most=1)  # the store works
    await mirror.rows(
        "UPDATE media_files SET handle = NULL WHERE file = (SELECT max(file) FROM media_files WHERE state = 'wanted')"
    )
    for method in (READ, AGAIN):
        world.faults.add(Fault(FaultKind.TIMEOUT, method, count=100))
    before = len(world.record.calls)
    fetching = asyncio.create_task(account.run())

    def asked() -> list[str]:
        return [call.method for call in world.record.calls[before:]]

    await until(lambda: Counter(asked()) == {READ: TRANSFERS.at_once - 1, AGAIN: 1}, within=30)
    begun = len(asked())
    async with working(mirror, None):
        number = world.post(scene.channel, "live").id
        await until(lambda: mirror.rows("SELECT FROM messages WHERE id = $1 AND text = 'live'", number))
    world.post(scene.channel, "later")
    await mirror.pass_time(hours=1)
    assert (await mirror.cycle()).changed == 1
    await mirror.lane.send(ChannelId(scene.channel.id), "hello", key=SendKey("one"))
    assert {READ, AGAIN}.isdisjoint(asked()[begun:])
    assert asked()[-1] == "messages.sendMessage"
    assert not fetching.done()
    fetching.cancel()
    await asyncio.gather(fetching, return_exceptions=True)
    world.faults.clear()
    await scene.fetch()
    assert len(await scene.kept()) == 12
