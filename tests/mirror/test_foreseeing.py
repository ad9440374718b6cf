"""``tidegate plan``: over random worlds the real cycle lies within what was said before it."""

from __future__ import annotations

from random import Random

import pytest

from tests.mirror.conftest import Mirror
from tidegate.loopback.telegram import World
from tidegate.mirror.cycle import CycleHabits
from tidegate.mirror.foreseeing import foresee


@pytest.mark.parametrize("seed", range(4))
async def test_the_real_cycle_lies_within_the_plan(mirror: Mirror, world: World, seed: int) -> None:
    """Whatever people did meanwhile; and the plan itself costs no call."""
    dice = Random(seed)
    made = [world.add_channel(f"Channel {number}", forum=number % 2 == 0) for number in range(6)]
    for one in made:
        for number in range(dice.randrange(5) if one.forum else 0):
            world.add_topic(one, f"Topic {number}")
    await mirror.sync()
    for one in made:
        topics = dice.sample(sorted(one.topics), dice.randrange(len(one.topics) + 1)) if dice.random() < 0.5 else []
        await mirror.enable(one, *topics)
    for _ in range(9):
        async with mirror.counted() as calls, mirror.database.connection() as connection:
            plan = await foresee(connection, mirror.account, CycleHabits())
        assert not calls
        if dice.random() < 0.2:
            await mirror.ask(dice.choice(made))
            continue
        for one in dice.sample(made, dice.randrange(len(made))):
            topic = dice.choice(sorted(one.topics)) if one.forum else 0
            mirror.post_files(one, [f"{dice.randrange(10**6)}.zip"] * dice.randrange(1, 40), topic if topic > 1 else 0)
            if dice.random() < 0.2:
                world.forget_events(one)
        report = await mirror.cycle()
        assert plan.calls.at_least <= sum(report.calls.values()) <= plan.calls.at_most
        assert plan.cycle == report.cycle
        await mirror.pass_time(minutes=dice.choice([1, 60]))
