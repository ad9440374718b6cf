"""A lane adds less than 150 microseconds to a read: limits, claim, pauses, ledger and metrics together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bench._database_server import own_database
from tidegate.core.clock import SystemClock
from tidegate.core.ids import ChannelId, MessageId
from tidegate.lanes import ReadLimits
from tidegate.lanes.queries.calls import CallLog
from tidegate.loopback.owned_account import add_account, open_lane
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.interface import HistoryPage

CALLS = 5_000
ROUNDS = 6
CHANNEL = ChannelId(1)
PAGE = HistoryPage(messages=(), reached_start=True)


class Instant:
    """A platform that answers at once: what is left is the lane."""

    async def page(self, channel: ChannelId, *, before: MessageId | None) -> HistoryPage:
        return PAGE

    async def close(self) -> None: ...


async def run() -> dict[str, float]:
    """The same call through a lane and to the client itself, in turns; the ledger is written meanwhile."""
    clock = SystemClock()
    async with own_database(connections=5) as database:
        account = await add_account(database, "bench", DISCORD)
        call_log = CallLog(database, clock)
        reads = ReadLimits(per_second=1_000_000, at_once=10)
        client = Instant()
        lane = await open_lane(account, client, call_log, database, reads=reads)
        direct = through = 0.0
        for _ in range(ROUNDS):
            direct += await _each(clock, client.page) / ROUNDS
            through += await _each(clock, lane.page) / ROUNDS
        await lane.close()
        await call_log.close()
        written = await database.pool.fetchval("SELECT count(*) FROM calls")
    assert written == CALLS * ROUNDS, "a call is missing from the ledger"
    return {
        "added_us": round((through - direct) * 1e6, 1),
        "lane_us": round(through * 1e6, 1),
        "client_us": round(direct * 1e6, 2),
        "calls": CALLS * ROUNDS,
    }


async def _each(clock: SystemClock, page: Callable[..., Awaitable[HistoryPage]]) -> float:
    """The seconds one call takes."""
    start = clock.ticks()
    for _ in range(CALLS):
        await page(CHANNEL, before=None)
    return (clock.ticks() - start) / CALLS
