"""When an account's cycles happen: at the start, every now and then, when the platform hints, when a person asks.

One cycle runs at a time. Whatever asks for one while it runs gets the next, all of them the same (S-61). What the
platform tells by itself is stored meanwhile (``mirror.live``); while it does, cycles are a safety net and rarer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from tidegate.clock import Clock
from tidegate.errors import NotOurs, TidegateError
from tidegate.lanes import Lane
from tidegate.mirror.backfill import backfill_missing
from tidegate.mirror.cycle import CycleHabits, run_cycle
from tidegate.mirror.desk import Desk, Wish
from tidegate.mirror.indexing import work_off
from tidegate.mirror.listing import list_topics_daily
from tidegate.mirror.live import Live
from tidegate.mirror.previewing import find_previews
from tidegate.mirror.report import Report
from tidegate.mirror.scan import FINAL, Hand
from tidegate.port import ChannelId
from tidegate.store import agenda, cycles
from tidegate.store.agenda import Agenda
from tidegate.store.database import AWAY, Database
from tidegate.words import AccountId

log = structlog.get_logger()

JITTER = 0.1
"""By how much of it the time between two cycles varies, so that accounts do not move in step."""

SOON = timedelta(seconds=2)
"""How long a hint waits for others, because posts come in bursts."""

LOOK_EVERY = timedelta(minutes=1)
"""How often to look for what cannot wait for the next cycle: a channel just enabled, a retry somebody asked for."""


@dataclass(frozen=True, slots=True)
class Timetable:
    """How often cycles happen; *every* is None where only those asked for do.

    *every_live* is the interval while the platform tells everything by itself. *dice* gives a number from 0 to 1.
    """

    every: timedelta | None = timedelta(minutes=60)
    soon: timedelta = SOON
    every_live: timedelta = timedelta(hours=4)
    look_every: timedelta = LOOK_EVERY
    dice: Callable[[], float] = lambda: 0.0

    def pause(self, *, live: bool) -> timedelta | None:
        """How long to wait for the next cycle; None for as long as nobody asks."""
        if self.every is None:
            return None
        return (max(self.every, self.every_live) if live else self.every) * (1 + JITTER * self.dice())


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
        self._lanes: dict[AccountId, Lane] = {}
        self._connected = asyncio.Event()
        self._counted: dict[AccountId, int] = {}
        self._cycled: dict[AccountId, asyncio.Event] = {}
        self._judged: dict[AccountId, datetime] = {}
        self._told_all: dict[AccountId, bool] = {}
        self._begun: dict[AccountId, set[ChannelId]] = {}
        self._started_at: int | None = None

    async def begin(self) -> None:
        """Note where the ledger stands, so that the first cycle's report counts what connecting for it cost."""
        self._started_at = await self._mark()

    async def lane(self, account: AccountId) -> Lane:
        """The lane of *account*, once it is connected."""
        while account not in self._lanes:
            self._connected.clear()
            await self._connected.wait()
        return self._lanes[account]

    def desk(self, account: AccountId) -> Desk:
        """Where to ask for a cycle of *account*, whether or not it is connected at the moment."""
        return self._desks.setdefault(account, Desk())

    async def work(self, lane: Lane) -> None:
        """Make cycles, and store what the platform tells between them, for as long as the account is served."""
        desk = self.desk(lane.account.id)
        self._lanes[lane.account.id] = lane
        self._connected.set()
        live = Live(lane, self._database, self._clock, self._habits, desk, pause=self._times.soon)
        self._cycled.setdefault(lane.account.id, asyncio.Event())
        following = asyncio.create_task(live.run(), name=f"news of {lane.account.name}")
        deepening = asyncio.create_task(self._deepen(lane, desk), name=f"histories of {lane.account.name}")
        try:
            if self._times.every is not None:
                desk.hint(None)
                await self._fulfil(lane, desk.take())
            while True:
                await self._next(lane, desk, live, following)
                if not desk.is_asked:
                    await self._clock.sleep(self._times.soon)
                await self._fulfil(lane, desk.take())
        finally:
            del self._lanes[lane.account.id]
            following.cancel()
            deepening.cancel()
            await asyncio.gather(following, deepening, return_exceptions=True)

    # What comes next

    async def _next(self, lane: Lane, desk: Desk, live: Live, following: asyncio.Task[None]) -> None:
        """Wait for a wish, leaving one on the desk for whatever becomes due meanwhile."""
        told_all = live.is_up and self._told_all.get(lane.account.id, False)
        pause = self._times.pause(live=told_all)
        ends = None if pause is None else self._clock.ticks() + pause.total_seconds()
        while True:
            left = None if ends is None else timedelta(seconds=ends - self._clock.ticks())
            span = None if left is None else await self._look_ahead(lane, desk, left)
            if await self._wished(desk, following, span):
                return

    async def _look_ahead(self, lane: Lane, desk: Desk, left: timedelta) -> timedelta:
        """Wish for what is due, the next cycle among it when none of its time is *left*; how long to wait for more."""
        try:
            ahead = await self._agenda(lane, left)
        except AWAY as problem:
            log.warning("agenda.unknown", account=lane.account.name, problem=str(problem))
            ahead = None
        until = left if ahead is None or ahead.retry_at is None else min(left, ahead.retry_at - ahead.now)
        if until <= timedelta():
            desk.hint(None)
        if ahead is None:
            return min(until, self._times.look_every)
        begun = self._begun.setdefault(lane.account.id, set())
        for channel in set(ahead.new) - begun:
            begun.add(channel)  # what cannot be read now has its next try in the next cycle
            desk.hint(channel)
        if ahead.judge_at is not None and ahead.judge_at <= ahead.now:
            desk.note_archives()
        judged = [] if ahead.judge_at is None else [ahead.judge_at - ahead.now]
        return min(until, self._times.look_every, *judged)

    async def _agenda(self, lane: Lane, left: timedelta) -> Agenda:
        account, habits = lane.account.id, self._habits
        async with self._database.transaction() as connection:
            ahead = await agenda.load(
                connection, account, habits.retries, habits.sets, judged_at=self._judged.get(account)
            )
            until = left if ahead.retry_at is None else min(left, ahead.retry_at - ahead.now)
            await agenda.expect_cycle(connection, lane.claim(), max(until, timedelta()))
        return ahead

    async def _wished(self, desk: Desk, following: asyncio.Task[None], span: timedelta | None) -> bool:
        """Wait that long for a wish; False when none came. What stops the live news stops everything."""
        wishing = asyncio.create_task(desk.left())
        waiting: set[asyncio.Task[None]] = {wishing}
        if not following.done():
            waiting.add(following)
        sleeping = None if span is None else asyncio.create_task(self._clock.sleep(span))
        try:
            await asyncio.wait(waiting | ({sleeping} if sleeping else set()), return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                following.result()
            return wishing.done()
        finally:
            wishing.cancel()
            if sleeping is not None:
                sleeping.cancel()

    # Doing it

    async def _fulfil(self, lane: Lane, wish: Wish) -> None:
        """One cycle, and the archives it left waiting; whoever asked hears how it went.

        A failure goes on to whoever serves the account.
        """
        try:
            if wish.wants_cycle:
                report = await self._cycle(lane, None if wish.whole else wish.channels)
                await self._file(lane)
                wish.fulfil(report)
            elif wish.archives:
                await self._judge(lane)
                await self._after(lane, None, whole=False)
                await self._file(lane)
        except NotOurs:
            wish.cancel()  # a command stays with its account: whoever serves it next takes it up again
            raise
        except TidegateError as problem:
            wish.fail(problem)
            raise
        except asyncio.CancelledError:
            wish.cancel()
            raise

    async def _cycle(self, lane: Lane, only: set[ChannelId] | None) -> Report:
        account = lane.account.id
        since = self._counted.get(account, self._started_at)
        if only is None:
            self._judged[account] = await self._now()
        report = await run_cycle(lane, self._database, self._clock, self._habits, only=only, since=since)
        if only is None:
            # A change that only the gate knew of was not told: then the net is drawn in sooner.
            self._told_all[account] = not report.changed
            self._begun.pop(account, None)
        ended = await self._mark()
        await self._after(lane, report.cycle, whole=report.whole)
        await self._count_indexing(lane, report, since=ended)
        self._counted[account] = await self._mark()
        self._cycled[account].set()
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

    async def _judge(self, lane: Lane) -> None:
        async with self._database.transaction() as connection:
            self._judged[lane.account.id] = await agenda.judge(connection, lane.claim(), self._habits.sets)

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

    async def _deepen(self, lane: Lane, desk: Desk) -> None:
        """After each cycle go on with the histories of which something is missing, beside the cycles, until none is.

        Only where cycles happen by themselves: a command that took the account for its duration does no more than that.
        """
        cycled = self._cycled[lane.account.id]
        while self._times.every is not None:
            await cycled.wait()
            cycled.clear()
            try:
                await self._read_histories(Hand(lane, self._database, None, self._habits.limits, self._habits.retries))
            except NotOurs:  # no beat just now; the next cycle is made when it is back
                continue
            except FINAL:
                desk.hint(None)  # whoever makes the cycles is told the same, and goes on to whoever serves the account
                return
            except AWAY as problem:
                log.warning("histories.put_off", account=lane.account.name, problem=str(problem), next="the next cycle")

    async def _read_histories(self, hand: Hand) -> None:
        await backfill_missing(hand, self._habits.history)
