"""A lane adds less than 150 microseconds to a read: limits, claim, pauses, ledger and metrics together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bench._server import own_database
from tidegate.clock import SystemClock
from tidegate.lanes import ReadLimits
from tidegate.loopback.owning import add_account, open_lane
from tidegate.port import ChannelId, MessageId, Page
from tidegate.store.calls import Ledger
from tidegate.words import Platform

CALLS = 5_000
ROUNDS = 6
CHANNEL = ChannelId(1)
PAGE = Page(messages=(), reached_start=True)


class Instant:
    """A platform that answers at once: what is left is the lane."""

    async def page(self, channel: ChannelId, *, before: MessageId | None) -> Page:
        return PAGE

    async def close(self) -> None: ...


async def run() -> dict[str, float]:
    """The same call through a lane and to the client itself, in turns; the ledger is written meanwhile."""
    clock = SystemClock()
    async with own_database(connections=5) as database:
        account = await add_account(database, "bench", Platform.DISCORD)
        ledger = Ledger(database, clock)
        reads = ReadLimits(per_second=1_000_000, at_once=10)
        client = Instant()
        lane = await open_lane(account, client, ledger, database, reads=reads)
        direct = through = 0.0
        for _ in range(ROUNDS):
            direct += await _each(clock, client.page) / ROUNDS
            through += await _each(clock, lane.page) / ROUNDS
        await lane.close()
        await ledger.close()
        written = await database.pool.fetchval("SELECT count(*) FROM calls")
    assert written == CALLS * ROUNDS, "a call is missing from the ledger"
    return {
        "added_us": round((through - direct) * 1e6, 1),
        "lane_us": round(through * 1e6, 1),
        "client_us": round(direct * 1e6, 2),
        "calls": CALLS * ROUNDS,
    }


async def _each(clock: SystemClock, page: Callable[..., Awaitable[Page]]) -> float:
    """The seconds one call takes."""
    start = clock.ticks()
    for _ in range(CALLS):
        await page(CHANNEL, before=None)
    return (clock.ticks() - start) / CALLS
