"""Histories are read by themselves beside the cycles, and only where cycles happen by themselves."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from tests.cycles.running_scheduler import cycles
from tests.history.backfill_scene import mirrored, stored
from tests.scenes.telegram_mirror import Mirror
from tests.waiting import until
from tidegate.core.clock import SystemClock
from tidegate.cycles.cycle import CyclePolicy
from tidegate.cycles.schedule.cycle_scheduler import CycleScheduler
from tidegate.cycles.schedule.cycle_timetable import CycleTimetable
from tidegate.history.history_pages import HistoryPolicy
from tidegate.history.rules.backfill_plan import PortionBudget

SMALL = CyclePolicy(history=HistoryPolicy(budget=PortionBudget(batches=1, messages=100)))


async def test_an_unfinished_history_queues_again_at_once(mirror: Mirror) -> None:
    """One cycle reads one portion; the rest is read before the next one, and the cycle does not wait for it."""
    [made] = await mirrored(mirror, 750)
    await mirror.connect()  # what was posted before is not told live to a connection made after it
    rounds = CycleScheduler(mirror.database, SystemClock(), SMALL, CycleTimetable(timedelta(hours=1), timedelta()))
    assert mirror.lane is not None
    working = asyncio.create_task(rounds.work(mirror.lane))
    try:

        async def all_there() -> bool:
            return await stored(mirror, made) == sorted(made.messages)

        await until(all_there)
    finally:
        working.cancel()
        await asyncio.wait([working])
    told = await cycles(mirror)  # posts before the connection may be hinted at, which is no full pass
    assert [report["calls"].get("messages.getHistory") for report in told if report["whole"]] == [1]


async def test_a_command_that_took_the_account_reads_no_more_than_it_was_asked_to(mirror: Mirror) -> None:
    """Where only cycles that were asked for happen, a history is read for one portion a cycle."""
    await mirrored(mirror, 750)
    rounds = CycleScheduler(mirror.database, SystemClock(), SMALL, CycleTimetable(None, timedelta()))
    assert mirror.lane is not None
    working = asyncio.create_task(rounds.work(mirror.lane))
    async with mirror.counted() as calls:
        for _ in range(3):
            await rounds.requests(mirror.account.id).ask(None)
    working.cancel()
    await asyncio.wait([working])
    assert calls["messages.getHistory"] == 3
