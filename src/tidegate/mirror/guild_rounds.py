"""When accounts whose channels live in guilds have their cycles, and what is done for them besides."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from tidegate.clock import Clock
from tidegate.lanes import Lane
from tidegate.mirror.backfill import backfill_missing
from tidegate.mirror.cycle import CycleHabits
from tidegate.mirror.desk import Desk, Wish
from tidegate.mirror.guild_live import GuildLive
from tidegate.mirror.guilds import list_archived, run_guild_cycle
from tidegate.mirror.reconcile import reconcile_due
from tidegate.mirror.report import Report
from tidegate.mirror.scan import Hand
from tidegate.mirror.turns import Timetable, Turns
from tidegate.port import ChannelId
from tidegate.side_by_side import beside
from tidegate.store import cycles, guilds
from tidegate.store.database import Database
from tidegate.words import AccountId


@dataclass(slots=True)
class _Served:
    """An account being worked for: what it is done with, how it takes turns, and since when nothing was missed."""

    hand: Hand
    turns: Turns
    live: GuildLive
    since: datetime


class GuildRounds:
    """The cycles of all such accounts that one process serves."""

    def __init__(self, database: Database, clock: Clock, habits: CycleHabits, times: Timetable) -> None:
        self._database = database
        self._clock = clock
        self._habits = habits
        self._times = times
        self._desks: dict[AccountId, Desk] = {}
        self._counted: dict[AccountId, int] = {}
        self._started_at: int | None = None

    async def begin(self) -> None:
        """Note where the ledger stands, so that the first cycle's report counts what connecting for it cost."""
        async with self._database.connection() as connection:
            self._started_at = await cycles.mark(connection)

    def desk(self, account: AccountId) -> Desk:
        """Where to ask for a cycle of *account*, whether or not it is connected at the moment."""
        return self._desks.setdefault(account, Desk())

    async def work(self, lane: Lane) -> None:
        """Make cycles, store what is told live, and read histories on, for as long as the account is served."""
        desk = self.desk(lane.account.id)
        hand = Hand(lane, self._database, None, self._habits.limits, self._habits.retries)
        async with self._database.connection() as connection:
            since = await connection.fetchval("SELECT clock_now()")
        turns = Turns(lane.account, desk, self._times, self._clock)
        served = _Served(hand, turns, GuildLive(hand, desk, self._clock), since)
        async with beside(served.live.follow(), turns.deepen(partial(self._read_on, served))) as (following, _):
            await turns.take(partial(self._next, served, following), partial(self._fulfil, served))

    async def _next(self, served: _Served, following: asyncio.Task[None]) -> None:
        """Wait for a wish, or for the time of the next cycle; while the platform tells everything that is later."""
        pause = self._times.pause(live=served.hand.lane.told() is not None)
        if not await served.turns.wished(pause, following):
            served.turns.desk.hint(None)

    async def _fulfil(self, served: _Served, wish: Wish) -> None:
        """One cycle; whoever asked hears how it went."""
        if wish.wants_cycle:
            with wish.told():
                report = await self._cycle(served, None if wish.whole else wish.channels)
            served.turns.cycled.set()
            wish.fulfil(report)

    async def _cycle(self, served: _Served, only: set[ChannelId] | None) -> Report:
        lane = served.hand.lane
        report = await run_guild_cycle(
            lane,
            self._database,
            self._clock,
            self._habits,
            heads=served.live.heads() if only is None else None,
            only=only,
            since=self._counted.get(lane.account.id, self._started_at),
            compared_since=served.since if self._times.every is None else None,
        )
        async with self._database.connection() as connection:
            self._counted[lane.account.id] = await cycles.mark(connection)
        return report

    async def _read_on(self, served: _Served) -> None:
        """Histories of which something is missing; once for each channel the threads archived before we came; then
        what may have been edited or deleted while nobody listened.
        """
        hand = served.hand
        await backfill_missing(hand, self._habits.history)
        async with self._database.connection() as connection:
            parents = await guilds.never_listed(connection, hand.lane.account.id)
            if served.live.lost_news():
                served.since = await connection.fetchval("SELECT clock_now()")
        for parent in parents:
            await list_archived(hand, parent, [], private=True)
        if parents:
            await backfill_missing(hand, self._habits.history)
        await reconcile_due(hand, self._habits.history, since=served.since)
