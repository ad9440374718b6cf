"""A lane adds less than 150 microseconds to a read: limits, claim, pauses, ledger and metrics together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bench._server import own_database
from tidegate.clock import SystemClock
from tidegate.lanes import Lane, ReadLimits
from tidegate.port import ChannelId, MessageId, Page
from tidegate.store import accounts
from tidegate.store.calls import Ledger
from tidegate.words import Claim, Platform, Standing

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
        async with database.transaction() as connection:
            await accounts.add(connection, "bench", Platform.DISCORD, Standing.NORMAL, loopback=None)
            account = (await accounts.find(connection, "bench")).account
        ledger = Ledger(database, clock)
        claim = Claim(account.id, 0, float("inf"))
        reads = ReadLimits(per_second=1_000_000, at_once=10)
        client = Instant()
        lane = Lane(
            account, client, claim=lambda: claim, database=database, ledger=ledger, clock=clock, reads=reads
        )  # fmt: skip
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
