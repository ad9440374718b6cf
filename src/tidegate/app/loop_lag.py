"""How late the event loop runs (nothing-blocks-the-loop: nothing holds it for more than 50 ms)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import NoReturn

from prometheus_client import Histogram

from tidegate.core.clock import Clock

LOOP_LAG = Histogram(
    "tidegate_loop_lag_seconds",
    "How much later than asked the event loop woke a task; above 0.05 something holds the loop.",
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
)


async def watch(
    clock: Clock, *, every: timedelta = timedelta(milliseconds=50), into: Callable[[float], None] = LOOP_LAG.observe
) -> NoReturn:
    """Sleep repeatedly and record how late each wake-up is; a block may be measured too short by up to *every*."""
    while True:
        asleep_at = clock.ticks()
        await clock.sleep(every)
        into(max(0.0, clock.ticks() - asleep_at - every.total_seconds()))
