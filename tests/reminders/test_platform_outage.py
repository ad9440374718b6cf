"""A platform in trouble: the account rests as a whole, the run says why, and everybody gets everything afterwards."""

from __future__ import annotations

import pytest

from tests.reminders.conftest import Scene, Shop
from tests.reminders.groups_platform import Trouble
from tidegate.core.errors import NotSent, PlatformError, Refused, ServerTrouble

CAUSE = "The platform is in trouble: 500."


@pytest.mark.parametrize("problem", [ServerTrouble(CAUSE), NotSent(CAUSE)], ids=["answers 500", "not reached"])
async def test_sends_that_fail_one_after_the_other_rest(scene: Scene, shop: Shop, problem: PlatformError) -> None:
    """Ten minutes of trouble cost a handful of calls. One cause is told, no group is lost, and it goes on by itself."""
    await scene.groups(shop, 100)
    await scene.reminder()
    run = await scene.fire()
    shop.platform.trouble_in = {number: Trouble(problem) for number in range(1, 101)}
    await scene.serve(shop)
    await scene.pass_time(seconds=20)
    held = await scene.run(run)
    assert (held.state, held.cause, held.held_until is not None) == ("running", CAUSE, True)
    await scene.pass_time(minutes=10)
    assert shop.platform.calls <= 10
    assert await scene.counts(run) == {"pending": 100}
    assert [event["cause"] for event in await scene.events("run.held")] == [CAUSE]
    assert {event["why"] for event in await scene.events("lane.paused")} == {CAUSE}

    shop.platform.trouble_in = {}
    await scene.pass_time(minutes=20)
    done = await scene.run(run)
    assert (done.status, done.cause) == ("success", "")
    assert set(shop.platform.by_group().values()) == {1}


async def test_a_rest_outlives_the_worker(scene: Scene, shop: Shop) -> None:
    """Another worker does not begin with a burst of tries."""
    await scene.groups(shop, 20)
    await scene.reminder()
    await scene.fire()
    shop.platform.trouble_in = {number: Trouble(ServerTrouble(CAUSE)) for number in range(1, 21)}
    await scene.serve(shop)
    await scene.pass_time(minutes=2)
    before = shop.platform.calls
    await scene.leave(shop)
    await scene.serve(shop)
    await scene.pass_time(seconds=20)
    assert shop.platform.calls - before <= 1


@pytest.mark.parametrize("problem", [ServerTrouble(CAUSE), Refused("This group does not want it.")])
async def test_the_trouble_of_one_group_holds_nobody_up(scene: Scene, shop: Shop, problem: PlatformError) -> None:
    """A success in between says that the platform is well."""
    await scene.groups(shop, 20)
    await scene.reminder()
    shop.platform.trouble_in = {3: Trouble(problem)}
    await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(minutes=1)
    assert len(shop.platform.delivered) == 19
