"""Pausing, resuming, cancelling; one owner; what a restore does to open runs."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import pairwise

import pytest

from tests.reminders.conftest import Scene, Shop
from tests.reminders.groups_platform import Recognising, Trouble
from tests.reminders.reminder_files import POSTER
from tidegate.accounts.queries import accounts
from tidegate.core.account import AccountState
from tidegate.core.errors import AskedToWait, NothingToDo, NotNow, TidegateError
from tidegate.core.platform import Platform
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.whatsapp import WHATSAPP
from tidegate.reminders.queries import reminders, run_states
from tidegate.reminders.runs import run_controls
from tidegate.reminders.runs.run_scheduler import RunScheduler
from tidegate.reminders.runs.run_worker import RunPolicy


async def test_d30_a_worker_that_lost_the_account_sends_nothing(scene: Scene, shop: Shop) -> None:
    """D-30: two workers believe to have the account; only the one of the newest epoch sends, and nothing twice."""
    await scene.groups(shop, 20)
    await scene.reminder()
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(seconds=6)
    old, old_lane = shop.task, shop.lane
    assert old is not None
    assert old_lane is not None
    await scene.serve(shop)
    await scene.pass_time(minutes=5)
    assert old.done()
    assert (await scene.run(run)).status == "success"
    assert set(shop.platform.by_group().values()) == {1}
    await asyncio.gather(old, return_exceptions=True)
    await old_lane.close()


async def test_d31_pause_with_one_in_flight(scene: Scene, shop: Shop) -> None:
    """D-31: the part in flight completes, and nothing further is claimed."""
    await scene.groups(shop, 10)
    await scene.reminder()
    answered = asyncio.Event()
    shop.platform.troubles = [None, Trouble(wait=answered.wait)]
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(seconds=4)
    assert (await scene.counts(run))["sending"] == 1
    await scene.do(run_controls.pause, run)
    answered.set()
    await scene.pass_time(minutes=10)
    assert await scene.counts(run) == {"sent": 2, "pending": 8}
    assert len(shop.platform.delivered) == 2
    await scene.do(run_controls.resume, run)
    await scene.pass_time(minutes=10)
    assert (await scene.run(run)).status == "success"


async def test_d32_a_restart_keeps_the_pause(scene: Scene, shop: Shop) -> None:
    """D-32: paused is stored; a new worker sends nothing until somebody resumes."""
    await scene.groups(shop, 5)
    await scene.reminder()
    run = await scene.fire()
    await scene.do(run_controls.pause, run)
    for _ in range(2):
        await scene.serve(shop)
        await scene.pass_time(minutes=10)
        assert shop.platform.delivered == []
        await scene.leave(shop)
    assert (await scene.run(run)).state == "paused"
    with pytest.raises(NothingToDo, match="paused already"):
        await scene.do(run_controls.pause, run)


async def test_d33_cancel_leaves_out_the_rest(scene: Scene, shop: Shop) -> None:
    """D-33: what is pending is skipped as cancelled, what was sent stays, and what is in flight completes first."""
    await scene.groups(shop, 10)
    await scene.reminder()
    answered = asyncio.Event()
    shop.platform.troubles = [None, Trouble(wait=answered.wait)]
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(seconds=4)
    await scene.do(run_controls.cancel, run)
    with pytest.raises(NothingToDo, match="is cancelled"):
        await scene.do(run_controls.pause, run)
    assert (await scene.run(run)).state == "running"
    answered.set()
    await scene.pass_time(minutes=1)
    ended = await scene.run(run)
    assert (ended.status, ended.error_summary) == ("cancelled", "Cancelled. 2 of 10 groups delivered.")
    assert await scene.counts(run) == {"sent": 2, "skipped": 8}
    assert set((await scene.errors(run)).values()) == {"cancelled"}
    with pytest.raises(NotNow, match="has ended"):
        await scene.do(run_controls.resume, run)


async def test_cancel_without_a_worker_ends_at_once(scene: Scene, shop: Shop) -> None:
    """Nobody has to serve the account for a run to be cancelled."""
    await scene.groups(shop, 3)
    await scene.reminder()
    run = await scene.fire()
    await scene.do(run_controls.cancel, run)
    assert (await scene.run(run)).status == "cancelled"


async def test_everything_paused_also_what_fires_meanwhile(scene: Scene, shop: Shop) -> None:
    """``runs pause --all`` stops every send; a firing that comes opens paused, and all go on together."""
    await scene.groups(shop, 3)
    await scene.reminder(schedule={"every": "hour"})
    await scene.reminder(name="another")
    run = await scene.fire("another")
    await scene.do(run_controls.pause_all)
    await scene.serve(shop)
    await scene.pass_time(minutes=70)
    assert shop.platform.delivered == []
    assert [row["state"] for row in await scene.rows("SELECT state FROM runs ORDER BY id")] == ["paused", "paused"]
    with pytest.raises(NotNow, match="resume --all"):
        await scene.fire("another")
    with pytest.raises(NotNow, match="resume --all"):
        await scene.do(run_controls.resume, run)
    await scene.do(run_controls.resume_all)
    await scene.pass_time(minutes=10)
    assert shop.platform.by_group() == {1: 2, 2: 2, 3: 2}


async def test_a_restore_pauses_what_was_open_and_what_is_due(scene: Scene, shop: Shop) -> None:
    """A restored database may not know its last sends: a person looks before anything goes on."""
    await scene.groups(shop, 3)
    await scene.reminder(schedule={"every": "hour"})
    await scene.reminder(name="another")
    open_ = await scene.fire("another")
    await scene.pass_time(minutes=70)
    async with scene.database.transaction() as connection:  # what a restore does at its end
        await run_states.pause_open(connection, by="restore")
        await reminders.doubt_due(connection)
    await scene.serve(shop)
    await scene.pass_time(minutes=10)
    assert (await scene.run(open_)).paused_by == "restore"
    assert [row["paused_by"] for row in await scene.rows("SELECT paused_by FROM runs")] == ["restore", "restore"]
    assert shop.platform.delivered == []
    await scene.do(run_controls.resume_all)
    await scene.pass_time(minutes=10)
    assert len(shop.platform.delivered) == 6


async def test_two_on_one_account_take_turns_and_share_its_pace(scene: Scene, shop: Shop) -> None:
    """D-18: the second run begins when the first has nothing to send; together they keep the account's pace."""
    await scene.groups(shop, 20)
    await scene.reminder()
    await scene.reminder(name="another", parts=[{"text": "other"}])
    first, second = await scene.fire(), await scene.fire("another")
    await scene.serve(shop)
    await scene.pass_time(minutes=3)
    texts = [one.text.startswith("Hello") for one in shop.platform.delivered]
    assert texts == sorted(texts, reverse=True)
    assert [(await scene.run(run)).status for run in (first, second)] == ["success", "success"]
    claims = [row["at"] for row in await scene.rows("SELECT at FROM calls WHERE charged ORDER BY at")]
    assert all((later - earlier).total_seconds() >= 1.5124 for earlier, later in pairwise(claims))


async def test_two_accounts_go_side_by_side(scene: Scene, shop: Shop) -> None:
    """D-19: both progress in the same minute; neither waits for the other."""
    other = await scene.shop(Recognising(scene.clock), name="other")
    for one in (shop, other):
        await scene.groups(one, 30)
    await scene.reminder()
    await scene.reminder(name="another", account="other")
    await scene.fire()
    await scene.fire("another")
    await scene.serve(shop)
    await scene.serve(other)
    await scene.pass_time(seconds=20)
    assert len(shop.platform.delivered) >= 12
    assert len(other.platform.delivered) >= 12


@pytest.mark.parametrize(("on", "expected"), [(TELEGRAM, 3), (WHATSAPP, 1)])
async def test_as_many_groups_in_flight_as_the_platform_bears(scene: Scene, on: Platform, expected: int) -> None:
    """Three groups at once, and one on WhatsApp, whose client sends one message at a time."""
    shop = await scene.shop(Recognising(scene.clock), on=on)
    await scene.groups(shop, 6)
    await scene.reminder()
    answered = asyncio.Event()
    shop.platform.troubles = [Trouble(wait=answered.wait)] * 6
    await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(seconds=30)
    assert shop.platform.most_at_once == expected
    answered.set()
    await scene.pass_time(seconds=30)
    assert len(shop.platform.delivered) == 6


async def fire_ten(scene: Scene, shop: Shop, deliveries: RunScheduler) -> None:
    """A reminder to ten groups of the account, fired and served."""
    await scene.groups(shop, 10)
    await scene.reminder(name=shop.account.name, account=shop.account.name)
    await scene.fire(shop.account.name)
    await scene.serve(shop, by=deliveries)


async def test_accounts_beyond_the_setting_wait_their_turn(scene: Scene, shop: Shop) -> None:
    """``BOT_FIRE_CONCURRENCY``: a worker sends for so many accounts at once; the next begins when one is done."""
    other = await scene.shop(Recognising(scene.clock), name="other")
    deliveries = RunScheduler(scene.database, scene.clock, RunPolicy(dice=lambda: 0.5, accounts_at_once=1))
    for one in (shop, other):
        await fire_ten(scene, one, deliveries)
    await scene.pass_time(seconds=8)
    assert sorted(map(len, (shop.platform.delivered, other.platform.delivered)))[0] == 0
    await scene.pass_time(minutes=1)
    assert len(shop.platform.delivered) == len(other.platform.delivered) == 10


async def test_an_account_that_may_not_send_for_hours_gives_its_turn_to_another(scene: Scene, shop: Shop) -> None:
    """Else a few accounts whose platform asked them to wait would keep a worker's others silent all day."""
    other = await scene.shop(Recognising(scene.clock), name="other")
    deliveries = RunScheduler(scene.database, scene.clock, RunPolicy(dice=lambda: 0.5, accounts_at_once=1))
    shop.platform.troubles = [None, Trouble(AskedToWait(timedelta(hours=2)))]
    for one in (shop, other):
        await fire_ten(scene, one, deliveries)
        await scene.pass_time(seconds=5)
    await scene.pass_time(minutes=5)
    assert (len(shop.platform.delivered), len(other.platform.delivered)) == (1, 10)
    await scene.pass_time(hours=2)
    assert len(shop.platform.delivered) == 10


async def test_a_long_upload_keeps_its_turn(scene: Scene, shop: Shop) -> None:
    """What takes its time is no idling: the file goes up once, however many others wait."""
    other = await scene.shop(Recognising(scene.clock), name="other")
    deliveries = RunScheduler(scene.database, scene.clock, RunPolicy(dice=lambda: 0.5, accounts_at_once=1))
    uploaded = asyncio.Event()
    shop.platform.upload_waits = uploaded.wait
    await scene.groups(shop, 2)
    await scene.groups(other, 2)
    await scene.reminder(POSTER, name="shop", parts=[{"media": "poster.jpg"}])
    await scene.reminder(name="other", account="other")
    for one in (shop, other):
        await scene.fire(one.account.name)
        await scene.serve(one, by=deliveries)
        await scene.pass_time(seconds=5)
    await scene.pass_time(minutes=10)
    assert other.platform.delivered == []
    uploaded.set()
    await scene.pass_time(minutes=1)
    assert (len(shop.platform.uploads), len(shop.platform.delivered), len(other.platform.delivered)) == (1, 2, 2)


async def test_nothing_is_tried_while_the_account_cannot_send(scene: Scene, shop: Shop) -> None:
    """The person who asked would be gone when it goes out; a firing waits for the account all the same."""
    await scene.groups(shop, 2)
    await scene.reminder()
    async with scene.database.transaction() as connection:
        await accounts.change_state(connection, shop.account.id, AccountState.PAUSED, expected=[AccountState.ACTIVE])
    with pytest.raises(TidegateError, match='"shop" is paused: resume it with: tidegate account resume shop'):
        await scene.fire(test_on="Group 1")
    assert await scene.rows("SELECT FROM runs") == []
    assert (await scene.run(await scene.fire())).state == "running"
