"""``tidegate plan`` for guilds: what the channels known now may take, spending nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cycles.guilds.conftest import COUNTING, PAGES, GuildMirror, channels_of, talk
from tidegate.cycles.cycle import CyclePolicy
from tidegate.cycles.cycle_forecast import CycleForecast, foresee
from tidegate.history.rules.backfill_plan import PortionBudget
from tidegate.loopback.discord import World
from tidegate.loopback.discord.world.places import Channel, Guild
from tidegate.loopback.discord.world.threads import start
from tidegate.scans.rules.call_bounds import CallBounds
from tidegate.scans.rules.scan_decision import Verdict

budgets = st.builds(
    PortionBudget, rounds=st.integers(1, 3), batches=st.integers(1, 3), messages=st.sampled_from([100, 300, 1_000])
)
acts = st.tuples(st.sampled_from(["post", "delete", "archive", "wake"]), st.integers(0, 9), st.integers(1, 260))


async def plan_of(mirror: GuildMirror) -> CycleForecast:
    async with mirror.counted() as calls, mirror.database.connection() as connection:
        plan = await foresee(connection, mirror.account, mirror.policy)
    assert not calls
    return plan


def happen(world: World, places: Sequence[Channel], act: str, number: int, size: int) -> None:
    """Somebody does something in one of these places."""
    place = places[number % len(places)]
    held = [message.id for message in place.history]
    if act == "post":
        talk(world, place, size)
    elif act == "delete" and held:
        world.delete(place, [held[size % len(held)]])
    elif act in ("archive", "wake") and place.thread is not None:
        world.archive(place, archived=act == "archive")


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.sampled_from([0, 3, 150, 420]), min_size=1, max_size=3),
    threads=st.integers(0, 2),
    meanwhile=st.lists(st.lists(acts, max_size=4), min_size=2, max_size=4),
    budget=budgets,
)
async def test_the_real_cycle_lies_within_the_plan(
    mirror: GuildMirror,
    world: World,
    guild: Guild,
    *,
    sizes: list[int],
    threads: int,
    meanwhile: list[Any],
    budget: PortionBudget,
) -> None:
    """Whatever people write meanwhile, in channels and threads, awake or asleep; and the plan itself costs no call."""
    await mirror.rows("UPDATE channels SET enabled = false")  # those of the example before
    mirror.policy = CyclePolicy(history=replace(COUNTING.history, budget=budget))
    made = channels_of(world, guild, sizes)
    places = [*made, *(start(world, made[0], f"thread {number}", text="one") for number in range(threads))]
    await mirror.connect()
    await mirror.cycle()
    for step in meanwhile:
        plan = await plan_of(mirror)
        for act in step:
            happen(world, places, *act)
        report = await mirror.cycle()
        assert plan.cycle == report.cycle
        assert plan.calls.at_least <= sum(report.calls.values()) <= plan.calls.at_most


async def test_what_is_missing_is_certain_to_cost_calls(mirror: GuildMirror, world: World, guild: Guild) -> None:
    """Of one channel more than a turn is missing, the other is complete: one call is sure, and two to ask the guild."""
    mirror.policy = CyclePolicy(history=replace(COUNTING.history, budget=PortionBudget(rounds=2, batches=1)))
    channels_of(world, guild, [500, 5])
    await mirror.connect()
    assert (await plan_of(mirror)).calls == CallBounds(0, 0)  # nobody knows a channel yet
    await mirror.cycle()
    plan = await plan_of(mirror)
    assert plan.calls == CallBounds(1, 2 + 2 * 2)
    assert plan.verdicts == {Verdict.GATE: 2}
    assert (await mirror.cycle()).calls[PAGES] == 2


async def test_a_thread_that_fell_asleep_with_much_in_it_takes_a_turn_at_a_time(
    mirror: GuildMirror, world: World, guild: Guild
) -> None:
    """What a budget cut off is a gap on record, although nobody tells of an archived thread's head any more."""
    mirror.policy = CyclePolicy(history=replace(COUNTING.history, budget=PortionBudget(rounds=1, batches=1)))
    [made] = channels_of(world, guild, [5])
    thread = start(world, made, "beside", text="one")
    await mirror.connect()
    await mirror.cycle()
    talk(world, thread, 350)
    world.archive(thread, archived=True)
    spent = [(await mirror.cycle()).calls.get(PAGES, 0) for _ in range(4)]
    assert spent == [2, 1, 1, 0]
    assert await mirror.equals_truth(made, thread)
