"""Channels that are mirrored in full: every message, down to the first."""

from __future__ import annotations

from tests.scenes.telegram_mirror import Mirror
from tidegate.cycles.cycle import CyclePolicy
from tidegate.history.history_pages import HistoryPolicy
from tidegate.history.rules.backfill_plan import PortionBudget
from tidegate.loopback.faults import Fault, FaultKind
from tidegate.loopback.telegram import World
from tidegate.loopback.telegram.world.channels import Channel


def talk(world: World, messages: int) -> Channel:
    made = world.add_channel("Talk")
    for number in range(messages):
        world.post(made, f"message {number}")
    return made


async def stored(mirror: Mirror) -> list[int]:
    return [row["id"] for row in await mirror.rows("SELECT id FROM messages WHERE deleted_at IS NULL ORDER BY id")]


async def test_every_message_is_read_down_to_the_first(mirror: Mirror, world: World) -> None:
    """All of them are stored, each once; afterwards the history costs nothing, and new ones come by difference."""
    made = talk(world, 250)
    await mirror.sync()
    await mirror.enable(made, in_full=True)
    await mirror.settle()
    assert await stored(mirror) == sorted(made.messages)
    assert (await mirror.cycle()).calls == {"messages.getPeerDialogs": 1}
    world.post(made, "one more")
    assert "messages.getHistory" not in (await mirror.cycle()).calls
    assert await stored(mirror) == sorted(made.messages)


async def test_a_turn_has_a_budget_and_the_next_goes_on(mirror: Mirror, world: World) -> None:
    """Budgets bound a portion, not the work: two pages a cycle reach the start all the same, no page read twice."""
    made = talk(world, 550)
    await mirror.sync()
    await mirror.enable(made, in_full=True)
    mirror.policy = CyclePolicy(history=HistoryPolicy(budget=PortionBudget(batches=1, messages=200)))
    pages = [(await mirror.cycle()).calls.get("messages.getHistory", 0) for _ in range(5)]
    assert pages == [2, 2, 2, 0, 0]
    assert await stored(mirror) == sorted(made.messages)


async def test_a_broken_page_does_not_end_history(mirror: Mirror, world: World) -> None:
    """platform-ends-history: a refusal proves nothing; the gap stays, and the next cycle reads it."""
    made = talk(world, 250)
    await mirror.sync()
    await mirror.enable(made, in_full=True)
    world.faults.add(Fault(FaultKind.ERROR, "messages.getHistory", code="400 CHAT_BOGUS"))
    assert len((await mirror.cycle()).troubles) == 1
    await mirror.cycle()
    assert await stored(mirror) == sorted(made.messages)


async def test_a_page_proves_what_was_deleted_before(mirror: Mirror, world: World) -> None:
    """A stored message inside the stretch of a page that does not show it is gone."""
    made = talk(world, 20)
    file = mirror.post_files(made, ["gone.zip"])[0]
    await mirror.sync()
    await mirror.enable(made)
    await mirror.cycle()
    del made.messages[file]  # without a word of the platform
    await mirror.enable(made, in_full=True)
    await mirror.cycle()
    assert await stored(mirror) == sorted(made.messages)
