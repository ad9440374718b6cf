"""Loop lag: nothing-blocks-the-loop is only a law when breaking it is seen."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

from tests.waiting import until
from tidegate.app.loop_lag import watch
from tidegate.core.clock import HeldClock, SystemClock


async def test_a_loop_held_on_purpose_is_seen() -> None:
    """nothing-blocks-the-loop: whoever holds the loop for longer than 50 ms shows in the metric."""
    lags: list[float] = []
    watching = asyncio.create_task(watch(SystemClock(), every=timedelta(milliseconds=10), into=lags.append))
    await until(lambda: lags)
    looked = len(lags)
    time.sleep(0.2)  # noqa: ASYNC251 - the offence itself
    await until(lambda: len(lags) > looked)
    watching.cancel()
    assert max(lags[looked:]) > 0.18  # the hold, short by the 10 ms of one sleep at most


async def test_a_free_loop_has_no_lag() -> None:
    """With a clock that wakes sleepers on time nothing is reported, whatever the machine is busy with."""
    lags: list[float] = []
    clock = HeldClock(datetime(2026, 1, 1, tzinfo=UTC))
    watching = asyncio.create_task(watch(clock, into=lags.append))
    await clock.advance(timedelta(seconds=1))
    watching.cancel()
    assert len(lags) >= 19
    assert sum(lags) < 1e-6
