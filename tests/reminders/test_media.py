"""Each file is uploaded once per account, and kept while the platform takes it."""

from __future__ import annotations

from datetime import timedelta

from tests.reminders.conftest import Scene, Shop
from tests.reminders.groups_platform import GroupsPlatform, Recognising, Trouble
from tidegate.errors import Refused
from tidegate.words import Platform

POSTER = {"poster.jpg": b"a picture" * 100_000}
PARTS = [{"text": "Good morning {group}"}, {"media": "poster.jpg", "caption": "for {group}"}]


async def test_d27_one_upload_for_all_targets(scene: Scene, shop: Shop) -> None:
    """D-27: many targets, one image, several in flight: uploaded once, posted to each with its caption, in order."""
    await scene.groups(shop, 40)
    await scene.reminder(POSTER, parts=PARTS)
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(minutes=3)
    assert (await scene.run(run)).status == "success"
    assert shop.platform.uploads == list(POSTER.values())
    assert (await scene.run(run)).uploads == 1
    assert shop.platform.texts(7) == ["Good morning Group 7", "for Group 7"]


async def test_a_later_run_and_a_restart_use_the_upload_again(scene: Scene, shop: Shop) -> None:
    """D-27: what the platform gave is stored, so neither a restart nor the next run uploads again."""
    await scene.groups(shop, 3)
    await scene.reminder(POSTER, parts=PARTS)
    for _ in range(2):
        run = await scene.fire()
        await scene.serve(shop)
        await scene.pass_time(minutes=1)
        assert (await scene.run(run)).status == "success"
        await scene.leave(shop)
    assert len(shop.platform.uploads) == 1


async def test_d28_an_old_upload_is_made_once_more(scene: Scene) -> None:
    """D-28: older than its time to live: one new upload, then reuse."""
    shop = await scene.shop(GroupsPlatform(scene.clock, media_lasts=timedelta(days=1)), on=Platform.WHATSAPP)
    await scene.groups(shop, 5)
    await scene.reminder(POSTER, parts=PARTS)
    await scene.serve(shop)
    for hours in (0, 23, 2, 1):
        await scene.pass_time(hours=hours)
        await scene.fire("Friday stock", test_on="Group 1")
        await scene.pass_time(minutes=1)
    assert len(shop.platform.uploads) == 2
    assert len(shop.platform.delivered) == 8


async def test_a_lost_upload_is_made_once_more(scene: Scene, shop: Shop) -> None:
    """``UploadLost``: nothing was posted, the file goes up once again, and nobody gets it twice or not at all."""
    await scene.groups(shop, 10)
    await scene.reminder(POSTER, parts=PARTS)
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(seconds=12)
    shop.platform.taken.clear()
    await scene.pass_time(minutes=5)
    assert (await scene.run(run)).status == "success"
    assert len(shop.platform.uploads) == 2
    assert set(shop.platform.by_group().values()) == {2}


async def test_d29_one_upload_for_each_account(scene: Scene, shop: Shop) -> None:
    """D-29: two accounts, the same image: two uploads, one each."""
    other = await scene.shop(Recognising(scene.clock), name="other")
    for one, name in ((shop, "mine"), (other, "theirs")):
        await scene.groups(one, 4)
        await scene.reminder(POSTER, name=name, account=one.account.name, parts=PARTS)
        await scene.fire(name)
        await scene.serve(one)
    await scene.pass_time(minutes=2)
    assert len(shop.platform.uploads) == len(other.platform.uploads) == 1
    assert len(shop.platform.delivered) == len(other.platform.delivered) == 8
    assert [row["count"] for row in await scene.rows("SELECT count(*) FROM media")] == [1]


async def test_a_refused_file_is_offered_once(scene: Scene, shop: Shop) -> None:
    """A file the platform does not take fails its targets with the reason, without an upload for each of them."""
    await scene.groups(shop, 5)
    await scene.reminder(POSTER, parts=[{"media": "poster.jpg"}])

    async def refuse(*_: object) -> None:
        shop.platform.calls += 1
        raise Refused("This file is too large.")

    shop.platform.upload = refuse
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(minutes=2)
    assert (await scene.run(run)).status == "failed"
    assert set((await scene.errors(run)).values()) == {"This file is too large."}
    assert shop.platform.calls == 1


async def test_a_trouble_while_posting_keeps_the_upload(scene: Scene, shop: Shop) -> None:
    """Another try of a part needs no other upload."""
    await scene.groups(shop, 3)
    await scene.reminder(POSTER, parts=[{"media": "poster.jpg"}])
    shop.platform.troubles = [Trouble(ConnectionError("gone"), after=True)]
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(minutes=2)
    assert (await scene.run(run)).status == "success"
    assert len(shop.platform.uploads) == 1
    assert set(shop.platform.by_group().values()) == {1}
