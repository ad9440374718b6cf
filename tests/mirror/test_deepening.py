"""Histories are read by themselves beside the cycles, and only where cycles happen by themselves."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from tests.mirror.conftest import Mirror
from tests.mirror.test_backfill import mirrored, stored
from tests.mirror.test_rounds import cycles
from tests.waiting import until
from tidegate.clock import SystemClock
from tidegate.mirror.cycle import CycleHabits
from tidegate.mirror.history import HistoryHabits
from tidegate.mirror.rounds import Rounds
from tidegate.mirror.turns import Timetable
from tidegate.rules.backfilling import TurnBudget

SMALL = CycleHabits(history=HistoryHabits(turn=TurnBudget(batches=1, messages=100)))


async def test_an_unfinished_history_queues_again_at_once(mirror: Mirror) -> None:
    """One cycle has one turn; the rest is read without waiting for the next one, and the cycle does not wait for it."""
    [made] = await mirrored(mirror, 750)
    await mirror.connect()  # what was posted before is not told live to a connection made after it
    rounds = Rounds(mirror.database, SystemClock(), SMALL, Timetable(timedelta(hours=1), timedelta()))
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
    """Where only cycles that were asked for happen, a history has its one turn a cycle."""
    await mirrored(mirror, 750)
    rounds = Rounds(mirror.database, SystemClock(), SMALL, Timetable(None, timedelta()))
    assert mirror.lane is not None
    working = asyncio.create_task(rounds.work(mirror.lane))
    async with mirror.counted() as calls:
        for _ in range(3):
            await rounds.desk(mirror.account.id).ask(None)
    working.cancel()
    await asyncio.wait([working])
    assert calls["messages.getHistory"] == 3
