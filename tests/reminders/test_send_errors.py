"""What a platform says in mid-run, and what that means for the part, the target, the account."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.reminders.conftest import Scene, Shop
from tests.reminders.groups_platform import Recognising, Trouble
from tidegate.core.errors import AskedToWait, Banned, ChannelGone, NotSent, Refused, SignedOut
from tidegate.core.platform_call import Scope, ScopeKind

TWO = [{"text": "first"}, {"text": "second"}]


async def test_d34_a_warning_halves_the_rate_once(scene: Scene, shop: Shop) -> None:
    """D-34: one account-wide 429: the rate is halved once, and the part is pending with not_before."""
    await scene.groups(shop, 10)
    await scene.reminder()
    shop.platform.troubles = [None, Trouble(AskedToWait(timedelta(seconds=30)))]
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(seconds=4)
    assert [row["rate"] for row in await scene.rows("SELECT rate FROM pace")] == [20]
    [waiting] = await scene.rows(
        "SELECT state, not_before - claimed_at AS wait FROM run_parts WHERE not_before IS NOT NULL"
    )
    assert waiting["state"] == "pending"
    assert waiting["wait"] >= timedelta(seconds=30)
    assert len(shop.platform.delivered) == 1
    await scene.pass_time(minutes=5)
    assert (await scene.run(run)).status == "success"
    assert set(shop.platform.by_group().values()) == {1}


async def test_d41_only_the_chat_that_was_named_waits(scene: Scene, shop: Shop) -> None:
    """D-41: one chat is asked to wait 17 s: it gets nothing for 17 s, the rest follows the lane."""
    await scene.groups(shop, 10)
    await scene.reminder()
    shop.platform.troubles = [Trouble(AskedToWait(timedelta(seconds=17), Scope(ScopeKind.CHAT, "1")))]
    run = await scene.fire()
    await scene.serve(shop)
    asked_at = scene.clock.now()
    await scene.pass_time(seconds=16)
    assert shop.platform.by_group()[1] == 0
    assert len(shop.platform.delivered) == 9
    await scene.pass_time(minutes=1)
    [late] = [one for one in shop.platform.delivered if one.channel == 1]
    assert late.at >= asked_at + timedelta(seconds=17)
    assert (await scene.run(run)).status == "success"


@pytest.mark.parametrize("stop", [SignedOut("The session is over."), Banned("The account is banned.")])
async def test_d37_a_stopped_account_keeps_its_run(scene: Scene, shop: Shop, stop: Exception) -> None:
    """D-36, D-37: signed out or banned in mid-run: the account stops, the remaining parts stay pending."""
    await scene.groups(shop, 10)
    await scene.reminder(parts=TWO)
    shop.platform.troubles = [None, None, None, Trouble(stop)]
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(minutes=5)
    assert shop.task is not None
    assert isinstance(shop.task.exception(), type(stop))
    assert (await scene.run(run)).state == "running"
    assert len(shop.platform.delivered) == 3
    rows = await scene.rows("SELECT state, count(*) FROM run_parts GROUP BY 1")
    states = {row["state"]: row["count"] for row in rows}
    assert states == {"sent": 3, "pending": 17}


@pytest.mark.parametrize("problem", [ChannelGone("The group is gone."), Refused("You may not write here.")])
async def test_d39_one_group_fails_and_the_run_goes_on(scene: Scene, shop: Shop, problem: Exception) -> None:
    """D-39: removed from one group: that target failed with the reason, its rest is not tried, the end is partial."""
    await scene.groups(shop, 4)
    await scene.reminder(parts=TWO)
    shop.platform.trouble_in = {2: Trouble(problem)}
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(minutes=5)
    ended = await scene.run(run)
    assert (ended.status, ended.error_summary) == ("partial", "3 of 4 groups delivered. 1 failed.")
    assert await scene.parts(run, 2) == ["failed", "skipped"]
    assert (await scene.errors(run)) == {"Group 2": str(problem)}


async def test_what_was_not_handed_over_is_tried_again(scene: Scene, shop: Shop) -> None:
    """Proven not sent: back to pending, tried again after a pause, sent once."""
    await scene.groups(shop, 3)
    await scene.reminder()
    shop.platform.troubles = [Trouble(NotSent("Not connected."))] * 4
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(minutes=2)
    assert (await scene.run(run)).status == "success"
    assert set(shop.platform.by_group().values()) == {1}


async def test_progress_is_told_at_most_once_a_second(scene: Scene) -> None:
    """Events say how far a run is; the last one is the end with its status."""
    shop = await scene.shop(Recognising(scene.clock), rate=600)
    await scene.groups(shop, 50)
    await scene.reminder()
    await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(seconds=30)
    told = await scene.events("run.progressed")
    assert 3 <= len(told) <= 7
    assert [one["counts"]["sent"] for one in told] == sorted(one["counts"]["sent"] for one in told)
    [fired] = await scene.events("reminder.fired")
    assert (fired["status"], fired["body"]) == ("success", "50 of 50 delivered")
