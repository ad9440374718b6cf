"""When an account's cycles happen: at the start, every now and then, when the platform hints, when a person asks.

One cycle runs at a time. Whatever asks for one while it runs gets the next, all of them the same (S-61). What the
platform tells by itself is stored meanwhile (``mirror.live``); while it does, cycles are a safety net and rarer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import structlog

from tidegate.clock import Clock
from tidegate.lanes import Lane
from tidegate.mirror.backfill import backfill_missing
from tidegate.mirror.cycle import CycleHabits, run_cycle
from tidegate.mirror.desk import Desk, Wish
from tidegate.mirror.indexing import work_off
from tidegate.mirror.listing import list_topics_daily
from tidegate.mirror.live import Live
from tidegate.mirror.previewing import find_previews
from tidegate.mirror.report import Report
from tidegate.mirror.scan import Hand
from tidegate.mirror.turns import Timetable, Turns
from tidegate.port import ChannelId
from tidegate.side_by_side import beside
from tidegate.store import agenda, cycles
from tidegate.store.agenda import Agenda
from tidegate.store.database import AWAY, Database
from tidegate.words import AccountId

log = structlog.get_logger()


@dataclass(slots=True)
class _Served:
    """An account being worked for, and what its next turns go by.

    *told_all* says whether the last cycle found nothing that was not told live, *begun* which new channels were already
    wished for, *judged_at* when its open sets were last judged.
    """

    lane: Lane
    turns: Turns
    live: Live
    told_all: bool = False
    begun: set[ChannelId] = field(default_factory=set)
    judged_at: datetime | None = None


class Rounds:
    """The cycles of all accounts that one process serves."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        habits: CycleHabits,
        times: Timetable | None = None,
        after_cycle: Callable[[Lane], Awaitable[None]] | None = None,
    ) -> None:
        """*after_cycle* is for work on what a cycle found; whoever asked for the cycle hears of it afterwards."""
        self._after_cycle = after_cycle
        self._database = database
        self._clock = clock
        self._habits = habits
        self._times = times or Timetable()
        self._desks: dict[AccountId, Desk] = {}
        self._counted: dict[AccountId, int] = {}
        self._started_at: int | None = None

    async def begin(self) -> None:
        """Note where the ledger stands, so that the first cycle's report counts what connecting for it cost."""
        self._started_at = await self._mark()

    def desk(self, account: AccountId) -> Desk:
        """Where to ask for a cycle of *account*, whether or not it is connected at the moment."""
        return self._desks.setdefault(account, Desk())

    async def work(self, lane: Lane) -> None:
        """Make cycles, and store what the platform tells between them, for as long as the account is served."""
        desk = self.desk(lane.account.id)
        turns = Turns(lane.account, desk, self._times, self._clock)
        live = Live(lane, self._database, self._clock, self._habits, desk, pause=self._times.soon)
        served = _Served(lane, turns, live)
        hand = Hand(lane, self._database, None, self._habits.limits, self._habits.retries)
        deepening = turns.deepen(partial(backfill_missing, hand, self._habits.history))
        async with beside(live.run(), deepening) as (following, _):
            await turns.take(partial(self._next, served, following), partial(self._fulfil, served))

    # What comes next

    async def _next(self, served: _Served, following: asyncio.Task[None]) -> None:
        """Wait for a wish, leaving one on the desk for whatever becomes due meanwhile."""
        pause = self._times.pause(live=served.live.is_up and served.told_all)
        ends = None if pause is None else self._clock.ticks() + pause.total_seconds()
        span = None
        while True:
            if ends is not None:
                span = await self._look_ahead(served, timedelta(seconds=ends - self._clock.ticks()))
            if await served.turns.wished(span, following):
                return

    async def _look_ahead(self, served: _Served, left: timedelta) -> timedelta:
        """Wish for what is due, the next cycle among it when none of its time is *left*; how long to wait for more."""
        desk = served.turns.desk
        try:
            ahead = await self._agenda(served, left)
        except AWAY as problem:
            log.warning("agenda.unknown", account=served.lane.account.name, problem=str(problem))
            ahead = None
        until = left if ahead is None or ahead.retry_at is None else min(left, ahead.retry_at - ahead.now)
        if until <= timedelta():
            desk.hint(None)
        if ahead is None:
            return min(until, self._times.look_every)
        for channel in set(ahead.new) - served.begun:
            served.begun.add(channel)  # what cannot be read now has its next try in the next cycle
            desk.hint(channel)
        if ahead.judge_at is not None and ahead.judge_at <= ahead.now:
            desk.note_archives()
        judged = [] if ahead.judge_at is None else [ahead.judge_at - ahead.now]
        return min(until, self._times.look_every, *judged)

    async def _agenda(self, served: _Served, left: timedelta) -> Agenda:
        lane, habits = served.lane, self._habits
        async with self._database.transaction() as connection:
            ahead = await agenda.load(
                connection, lane.account.id, habits.retries, habits.sets, judged_at=served.judged_at
            )
            until = left if ahead.retry_at is None else min(left, ahead.retry_at - ahead.now)
            await agenda.expect_cycle(connection, lane.claim(), max(until, timedelta()))
        return ahead

    # Doing it

    async def _fulfil(self, served: _Served, wish: Wish) -> None:
        """One cycle, and the archives it left waiting; whoever asked hears how it went."""
        with wish.told():
            if wish.wants_cycle:
                report = await self._cycle(served, None if wish.whole else wish.channels)
                await self._file(served.lane)
                wish.fulfil(report)
            elif wish.archives:
                await self._judge(served)
                await self._after(served.lane, None, whole=False)
                await self._file(served.lane)

    async def _cycle(self, served: _Served, only: set[ChannelId] | None) -> Report:
        lane, account = served.lane, served.lane.account.id
        since = self._counted.get(account, self._started_at)
        if only is None:
            served.judged_at = await self._now()
        report = await run_cycle(lane, self._database, self._clock, self._habits, only=only, since=since)
        if only is None:
            # A change that only the gate knew of was not told: then the net is drawn in sooner.
            served.told_all = not report.changed
            served.begun.clear()
        ended = await self._mark()
        await self._after(lane, report.cycle, whole=report.whole)
        await self._count_indexing(lane, report, since=ended)
        self._counted[account] = await self._mark()
        served.turns.cycled.set()
        return report

    async def _after(self, lane: Lane, cycle: int | None, *, whole: bool) -> None:
        """What follows a cycle, and is no part of it: work on what it found, and the daily list of topics."""
        await work_off(lane, self._database, self._habits.retries, cycle=cycle)
        calls = self._habits.preview_calls_after(whole=whole)
        await find_previews(lane, self._database, calls=calls, cycle=cycle)
        await list_topics_daily(lane, self._database)
        await lane.write_ledger()

    async def _file(self, lane: Lane) -> None:
        if self._after_cycle is not None:
            await self._after_cycle(lane)

    async def _judge(self, served: _Served) -> None:
        async with self._database.transaction() as connection:
            served.judged_at = await agenda.judge(connection, served.lane.claim(), self._habits.sets)

    async def _now(self) -> datetime:
        async with self._database.connection() as connection:
            now: datetime = await connection.fetchval("SELECT clock_now()")
            return now

    async def _mark(self) -> int:
        async with self._database.connection() as connection:
            return await cycles.mark(connection)

    async def _count_indexing(self, lane: Lane, report: Report, *, since: int) -> None:
        """Add to a report what the archives cost after the cycle, so that together they are what the ledger has."""
        await lane.write_ledger()
        async with self._database.transaction() as connection:
            spent = await cycles.spent(connection, lane.account.id, report.cycle, since=since)
            report.indexing_calls = spent.calls
            report.connect_calls += spent.connect_calls
            if report.kept is not None:
                await cycles.complete(connection, report.kept, report.as_json())
