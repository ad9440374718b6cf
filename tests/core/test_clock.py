"""The clock a test holds: it moves only when told, wakes in order, and waits for real calls in flight."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from tests.held import NOON, holding, set_wall
from tidegate.core.clock import HeldClock, SystemClock
from tidegate.database.pool import Database

SECOND = timedelta(seconds=1)


async def test_sleepers_wake_in_the_order_they_are_due() -> None:
    """Each wakes at its own instant, not at the end of the step that passed it."""
    clock, woken = HeldClock(NOON), []

    async def sleeper(seconds: int) -> None:
        await clock.sleep(seconds * SECOND)
        woken.append((seconds, clock.now() - NOON))

    tasks = [asyncio.create_task(sleeper(seconds)) for seconds in (3, 1, 2)]
    await clock.advance(5 * SECOND)
    await asyncio.gather(*tasks)
    assert woken == [(seconds, seconds * SECOND) for seconds in (1, 2, 3)]
    assert clock.now() == NOON + 5 * SECOND


async def test_who_sleeps_again_is_woken_again() -> None:
    """A loop of sleeps runs as often within one step as it would in real time."""
    clock, beats = HeldClock(NOON), []

    async def beat() -> None:
        while True:
            await clock.sleep(SECOND)
            beats.append(clock.now())

    beating = asyncio.create_task(beat())
    await clock.advance(10 * SECOND)
    beating.cancel()
    assert beats == [NOON + second * SECOND for second in range(1, 11)]


async def test_time_stands_still_while_the_database_works(database: Database) -> None:
    """A statement that takes real time takes none of the held one, and its reader sees the same instant."""
    async with holding(database) as clock:
        seen = []

        async def work() -> None:
            for _ in range(5):
                await clock.sleep(SECOND)
                before = clock.now()
                theirs = await database.pool.fetchval("SELECT clock_now() FROM pg_sleep(0.02)")
                seen.append((before, theirs, clock.now()))

        working = asyncio.create_task(work())
        await clock.advance(5 * SECOND)
        await working
    assert seen == [(NOON + second * SECOND,) * 3 for second in range(1, 6)]


async def test_the_time_of_day_may_jump_alone() -> None:
    """Somebody sets the clock: ages and sleeps go on as before."""
    clock = HeldClock(NOON)
    sleeping = asyncio.create_task(clock.sleep(10 * SECOND))
    await clock.advance(SECOND)
    ticks = clock.ticks()
    await set_wall(clock, NOON - timedelta(hours=1))
    assert clock.ticks() == ticks
    await clock.advance(8 * SECOND)
    assert not sleeping.done()
    await clock.advance(SECOND)
    assert sleeping.done()
    assert clock.now() == NOON - timedelta(hours=1) + 9 * SECOND


async def test_a_cancelled_sleeper_disturbs_nobody() -> None:
    """Whoever stops waiting leaves nothing behind that could hold the others up."""
    clock = HeldClock(NOON)
    gone, stays = (asyncio.create_task(clock.sleep(SECOND)) for _ in range(2))
    await clock.advance(timedelta())
    gone.cancel()
    await clock.advance(SECOND)
    assert stays.done()
    assert gone.cancelled()


async def test_the_machines_clock_is_aware_and_runs() -> None:
    """Instants are aware UTC, and ticks never go back."""
    clock = SystemClock()
    before = clock.ticks()
    await clock.sleep(-SECOND)
    assert clock.now().utcoffset() == timedelta()
    assert clock.ticks() >= before
