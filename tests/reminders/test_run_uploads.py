"""Each file is uploaded once per account, and kept while the platform takes it."""

from __future__ import annotations

from datetime import timedelta

from tests.reminders.conftest import Scene, Shop
from tests.reminders.groups_platform import GroupsPlatform, Recognising, Trouble
from tests.reminders.reminder_files import POSTER
from tidegate.core.errors import PlatformError, Refused
from tidegate.platforms.interface.uploads import Media, MediaRef
from tidegate.platforms.whatsapp import WHATSAPP
from tidegate.reminders.runs import run_controls

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
    shop = await scene.shop(GroupsPlatform(scene.clock, media_lasts=timedelta(days=1)), on=WHATSAPP)
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


class Failing:
    """An upload that fails as often as it is tried, until it is mended."""

    def __init__(self, shop: Shop, problem: PlatformError) -> None:
        self.tries = 0
        self.broken = True
        self._upload, self._problem = shop.platform.upload, problem
        shop.platform.upload = self.upload

    async def upload(self, media: Media, content: bytes) -> MediaRef:
        self.tries += 1
        if self.broken:
            raise self._problem
        return await self._upload(media, content)


async def test_an_upload_that_fails_is_shared_and_pauses_the_run(scene: Scene, shop: Shop) -> None:
    """Nothing is sent before the files are up. A few tries for all fifty groups, one cause, and the run is paused; when
    somebody resumes it, it is tried again, and every group has both messages once."""
    await scene.groups(shop, 50)
    await scene.reminder(POSTER, parts=PARTS)
    failing = Failing(shop, PlatformError("Telegram is in trouble."))
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(seconds=20)
    held = await scene.run(run)
    cause = 'The file "poster.jpg" cannot be uploaded: Telegram is in trouble.'
    assert (held.state, held.cause, held.held_until is not None) == ("running", cause, True)
    await scene.pass_time(minutes=10)
    paused = await scene.run(run)
    assert (paused.state, paused.paused_by, paused.cause) == ("paused", "upload", cause)
    assert (shop.platform.delivered, await scene.counts(run)) == ([], {"pending": 50})
    assert failing.tries <= 15
    assert [event["cause"] for event in await scene.events("run.held")] == [cause]
    assert [event["cause"] for event in await scene.events("run.paused")] == [cause]

    failing.broken = False
    await scene.do(run_controls.resume, run)
    await scene.pass_time(minutes=5)
    done = await scene.run(run)
    assert (done.status, done.cause) == ("success", "")
    assert set(shop.platform.by_group().values()) == {2}


async def test_a_failing_upload_holds_up_every_run_with_that_file_and_no_other(scene: Scene, shop: Shop) -> None:
    """A second run with the file makes no tries of its own; a run without it goes on."""
    await scene.groups(shop, 5)
    failing = Failing(shop, PlatformError("Telegram is in trouble."))
    await scene.reminder(POSTER, name="first", parts=PARTS)
    await scene.reminder(POSTER, name="second", parts=PARTS)
    await scene.reminder(name="third")
    await scene.serve(shop)
    first, second, third = [await scene.fire(name) for name in ("first", "second", "third")]
    await scene.pass_time(minutes=15)
    assert [(await scene.run(one)).state for one in (first, second, third)] == ["paused", "paused", "ended"]
    assert (await scene.run(second)).cause == (await scene.run(first)).cause
    assert failing.tries <= 15
    failing.broken = False
    for one in (first, second):
        await scene.do(run_controls.resume, one)
    await scene.pass_time(minutes=5)
    assert [(await scene.run(one)).status for one in (first, second)] == ["success", "success"]


async def test_an_upload_that_recovers_needs_nobody(scene: Scene, shop: Shop) -> None:
    """The next try comes by itself, also from another worker, and the cause is gone."""
    await scene.groups(shop, 3)
    await scene.reminder(POSTER, parts=PARTS)
    failing = Failing(shop, PlatformError("Telegram is in trouble."))
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(seconds=20)
    await scene.leave(shop)
    failing.broken = False
    await scene.serve(shop)
    await scene.pass_time(minutes=2)
    done = await scene.run(run)
    assert (done.status, done.cause, done.held_until) == ("success", "", None)
    assert await scene.rows("SELECT * FROM upload_failures") == []


async def test_a_refused_file_is_offered_once(scene: Scene, shop: Shop) -> None:
    """A file the platform does not take pauses the run at once with the reason; no group gets half of it."""
    await scene.groups(shop, 5)
    await scene.reminder(POSTER, parts=PARTS)
    failing = Failing(shop, Refused("This file is too large."))
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(minutes=20)
    paused = await scene.run(run)
    assert (paused.state, paused.paused_by) == ("paused", "upload")
    assert paused.cause == 'The file "poster.jpg" cannot be uploaded: This file is too large.'
    assert (shop.platform.delivered, failing.tries) == ([], 1)
    await scene.do(run_controls.cancel, run)
    assert (await scene.run(run)).status == "cancelled"


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
