"""The tour of ``demo --once``: promises of Tidegate, tried and measured, each with its limit."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Sized
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path

from tidegate.accounts.queries import accounts
from tidegate.core.clock import SystemClock
from tidegate.database.pool import Address, Database
from tidegate.demo.telegram_tour import telegram_tour
from tidegate.demo.tour_check import Promise, at_most
from tidegate.events.kinds.demo import TourNoted
from tidegate.events.queries import feed
from tidegate.lanes.rules.pace_bucket import Pace
from tidegate.loopback.counting_world import World, make_world
from tidegate.loopback.fleet import keep_sending
from tidegate.workers.command_client import ask_owner

ACCOUNTS = 60
RATE = 120
TIME_OUT = timedelta(seconds=4)


async def tour(address: Address, home: Path) -> AsyncIterator[Promise]:
    """Try every promise; yields each as soon as it is measured."""
    database = await Database.open(address)
    try:
        async with _workers(address, database, home) as world:
            for trial in (_spread, _command, _kill, _terminate, _freeze, _one_owner):
                yield await trial(world)
        async with make_world(address, database, home) as world:
            yield await _pace(world)
        await database.pool.execute("DELETE FROM accounts")
        async with make_world(address, database, home) as world:
            async for promise in telegram_tour(world):
                yield promise
        yield await _feed(database)
    finally:
        await database.close()


@asynccontextmanager
async def _workers(address: Address, database: Database, home: Path) -> AsyncIterator[World]:
    async with make_world(address, database, home) as world:
        await world.add_accounts(ACCOUNTS)
        for name in ("one", "two", "three"):
            world.start_worker(name, time_out=TIME_OUT)
        yield world


async def _spread(world: World) -> Promise:
    await world.until_spread(ACCOUNTS // 3, ACCOUNTS // 3, ACCOUNTS // 3)
    await world.until_all_called(ACCOUNTS)
    shares = (await world.spread()).values()
    return at_most("Accounts spread evenly over three workers; most above the least", max(shares) - min(shares), 1, "")


async def _command(world: World) -> Promise:
    async with world.database.connection() as connection:
        account = (await accounts.listing(connection))[0].account
    begun = SystemClock().ticks()
    answer = await ask_owner(world.database, account.id, "look_again", {}, within=timedelta(seconds=10))
    took = SystemClock().ticks() - begun if answer else 10.0
    return at_most("A command reaches the worker that serves the account, and its answer comes back", took, 2, "s")


async def _kill(world: World) -> Promise:
    took = await world.seconds_to_move("one", signal.SIGKILL)
    return at_most("A killed worker's accounts are served elsewhere", took, 3, "s")


async def _terminate(world: World) -> Promise:
    world.start_worker("four", time_out=TIME_OUT)
    await world.until_spread(ACCOUNTS // 3, ACCOUNTS // 3, ACCOUNTS // 3)
    took = await world.seconds_to_move("two", signal.SIGTERM)
    return at_most("A worker that is stopped hands its accounts over", took, 3, "s")


async def _freeze(world: World) -> Promise:
    took = await world.seconds_to_move("three", signal.SIGSTOP)
    world.strike("three", signal.SIGCONT)
    await world.until_spread(ACCOUNTS // 2, ACCOUNTS // 2)
    limit = TIME_OUT.total_seconds() + 3
    return at_most("A frozen worker's accounts are served elsewhere after the time-out of 4 s", took, limit, "s")


async def _one_owner(world: World) -> Promise:
    await world.until_all_called(ACCOUNTS)
    stale = len(world.platform.record.stale_calls())
    return at_most("No call by an owner that was replaced, by the platform's own record", stale, 0, "calls")


async def _pace(world: World) -> Promise:
    """Kill a sending worker five times over; the shortest gap between two claims, by the database's clock."""
    await world.database.pool.execute("DELETE FROM accounts")
    await world.add_accounts(1)
    sends = world.platform.record.sends
    for life in range(6):
        world.start_worker(f"life-{life}", keep_sending, max_send_per_minute=RATE)
        enough = len(sends) + 3
        await world.until("three more messages", partial(_has, sends, enough))
        world.strike(f"life-{life}", signal.SIGKILL)
    claims = await world.database.pool.fetch("SELECT at FROM calls WHERE charged ORDER BY at")
    shortest = min((later["at"] - earlier["at"]).total_seconds() for earlier, later in pairwise(claims))
    least = Pace(RATE).interval.total_seconds()
    return Promise(
        f"Never above the pace of {RATE} a minute, over six lives of a killed worker; shortest gap in s",
        round(shortest, 4),
        f"at least {least:.4f} s",
        shortest >= least,
    )


def _has(things: Sized, count: int) -> bool:
    return len(things) >= count


async def _feed(database: Database) -> Promise:
    """Twenty writers commit out of order while a reader follows; how many events it missed."""
    async with database.connection() as connection:
        start = await feed.latest(connection)

    async def write(writer: int) -> None:
        for number in range(20):
            async with database.transaction() as connection:
                await feed.record(connection, f"{writer}/{number}", TourNoted())
                await asyncio.sleep(0.002 * (writer % 5))

    seen: set[str] = set()
    reading = asyncio.create_task(_read(database, start, seen, 400))
    await asyncio.gather(*(write(writer) for writer in range(20)))
    await asyncio.wait([reading], timeout=10)
    reading.cancel()
    return at_most("A reader of the feed misses no event of 20 writers", 400 - len(seen), 0, "events")


async def _read(database: Database, start: feed.FeedCursor, seen: set[str], count: int) -> None:
    async for event in feed.follow(database, start):
        if event.kind == TourNoted.kind:
            seen.add(event.subject)
        if len(seen) == count:
            return
