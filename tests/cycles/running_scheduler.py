"""A cycle scheduler at work on a mirror, and the cycles it ran."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from tests.scenes.telegram_mirror import Mirror
from tidegate.core.clock import SystemClock
from tidegate.cycles.schedule.cycle_scheduler import CycleScheduler
from tidegate.cycles.schedule.cycle_timetable import LOOK_EVERY, CycleTimetable

SOON = timedelta(milliseconds=10)


@asynccontextmanager
async def working(
    mirror: Mirror,
    every: timedelta | None,
    *,
    every_live: timedelta = timedelta(hours=4),
    look_every: timedelta = LOOK_EVERY,
) -> AsyncIterator[CycleScheduler]:
    """The account being worked for in the block."""
    times = CycleTimetable(every, SOON, every_live=every_live, look_every=look_every)
    rounds = CycleScheduler(mirror.database, SystemClock(), mirror.policy, times)
    await rounds.begin()
    assert mirror.lane is not None
    task = asyncio.create_task(rounds.work(mirror.lane))
    try:
        yield rounds
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled() and (problem := task.exception()) is not None:
            raise problem


async def cycles(mirror: Mirror) -> list[dict[str, Any]]:
    return [row["report"] for row in await mirror.rows("SELECT report FROM cycles ORDER BY id")]
