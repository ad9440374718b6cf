"""Which target of a run is next: a try in doubt does not wait until everybody else has been served."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from tests.reminders.conftest import Scene
from tests.reminders.groups_platform import Recognising, Trouble
from tidegate.core.errors import AskedToWait, OutcomeUnknown
from tidegate.core.platform_call import Scope, ScopeKind
from tidegate.reminders.runs.run_worker import RunPolicy


async def test_a_try_in_doubt_is_repeated_while_the_platform_recognises_it(scene: Scene) -> None:
    """D-24: of 200 groups, which take five minutes, the first answer is lost; it is asked for again within seconds."""
    shop = await scene.shop(Recognising(scene.clock, recognises_for=timedelta(minutes=2)))
    await scene.groups(shop, 200)
    await scene.reminder()
    shop.platform.troubles = [Trouble(OutcomeUnknown("the connection broke"), after=True)]
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(seconds=30)
    assert await scene.parts(run, 1) == ["sent"]
    assert shop.platform.by_group()[1] == 1
    await scene.pass_time(minutes=5)
    assert (await scene.run(run)).status == "success"


async def test_what_waited_comes_before_those_who_were_not_tried(scene: Scene) -> None:
    """D-34: one chat has to wait 5 s; when that is over it gets its turn, and does not become the last."""
    shop = await scene.shop(Recognising(scene.clock))
    await scene.groups(shop, 100)
    await scene.reminder(parts=[{"text": "first"}, {"text": "second"}])
    shop.platform.troubles = [Trouble(AskedToWait(timedelta(seconds=5), Scope(ScopeKind.CHAT)))]
    run = await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(seconds=30)
    assert await scene.parts(run, 1) == ["sent", "sent"]
    assert shop.platform.texts(1) == ["first", "second"]


@pytest.mark.parametrize(("thrown", "apart"), [(0.0, 200), (0.5, 350), (1.0, 500)])
async def test_the_parts_of_a_group_keep_a_little_distance(scene: Scene, thrown: float, apart: int) -> None:
    """The seed's 200 to 500 ms between two messages of a group, by the throw of the dice, where the pace allows it."""
    scene.policy = RunPolicy(dice=lambda: thrown)
    shop = await scene.shop(Recognising(scene.clock), rate=6_000)
    await scene.groups(shop, 1)
    await scene.reminder(parts=[{"text": "first"}, {"text": "second"}, {"text": "third"}])
    await scene.fire()
    await scene.serve(shop)
    await scene.pass_time(seconds=10)
    at = [one.at for one in shop.platform.delivered]
    assert [later - earlier for earlier, later in pairwise(at)] == [timedelta(milliseconds=apart)] * 2
