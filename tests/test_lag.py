"""Loop lag: law 13 is only a law when breaking it is seen."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

from prometheus_client import CollectorRegistry, Histogram

from tidegate.clock import HeldClock, SystemClock
from tidegate.lag import watch


def histogram() -> Histogram:
    return Histogram("lag", "lag", buckets=(0.05, 0.1), registry=CollectorRegistry())


def seen(lag: Histogram, name: str, **labels: str) -> float:
    values = [
        sample.value
        for metric in lag.collect()
        for sample in metric.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    return values[0]


async def until_looked(lag: Histogram, times: float) -> None:
    async with asyncio.timeout(30):
        while seen(lag, "lag_count") < times:
            await asyncio.sleep(0.002)


async def test_a_loop_held_on_purpose_is_seen() -> None:
    """Law 13: whoever holds the loop for longer than 50 ms shows in the metric."""
    lag = histogram()
    watching = asyncio.create_task(watch(SystemClock(), every=timedelta(milliseconds=10), into=lag))
    await until_looked(lag, 1)
    before = seen(lag, "lag_sum")
    time.sleep(0.2)  # noqa: ASYNC251 - the offence itself
    await until_looked(lag, seen(lag, "lag_count") + 1)
    watching.cancel()
    assert seen(lag, "lag_sum") - before > 0.18  # the hold, short by the 10 ms of one sleep at most
    assert seen(lag, "lag_count") > seen(lag, "lag_bucket", le="0.1")


async def test_a_free_loop_has_no_lag() -> None:
    """With a clock that wakes sleepers on time nothing is reported, whatever the machine is busy with."""
    lag, clock = histogram(), HeldClock(datetime(2026, 1, 1, tzinfo=UTC))
    watching = asyncio.create_task(watch(clock, into=lag))
    await clock.advance(timedelta(seconds=1))
    watching.cancel()
    assert seen(lag, "lag_count") >= 19
    assert seen(lag, "lag_sum") < 1e-6
