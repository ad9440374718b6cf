"""When an account's cycles happen: at the start, every now and then, when the platform hints, when a person asks.

One cycle runs at a time. Whatever asks for one while it runs gets the next, all of them the same (S-61).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from tidegate.clock import Clock
from tidegate.errors import NotOurs, PlatformError, TidegateError
from tidegate.lanes import Lane
from tidegate.mirror.backfill import backfill_missing
from tidegate.mirror.cycle import CycleHabits, run_cycle
from tidegate.mirror.indexing import work_off
from tidegate.mirror.previewing import find_previews
from tidegate.mirror.report import Report
from tidegate.mirror.scan import FINAL, Hand
from tidegate.port import ChannelId
from tidegate.store import cycles
from tidegate.store.database import AWAY, Database
from tidegate.words import AccountId

log = structlog.get_logger()

JITTER = 0.1
"""By how much of it the time between two cycles varies, so that accounts do not move in step."""

SOON = timedelta(seconds=2)
"""How long a hint waits for others, because posts come in bursts."""


@dataclass(slots=True)
class Wish:
    """What the next cycle is for: *channels*, or everything when it is *whole*; *askers* wait for its report."""

    whole: bool = False
    channels: set[ChannelId] = field(default_factory=set)
    askers: list[asyncio.Future[Report]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.whole or bool(self.channels)

    def fulfil(self, report: Report) -> None:
        """Give every asker the report."""
        for asker in self._waiting():
            asker.set_result(report)

    def fail(self, problem: TidegateError) -> None:
        """Tell every asker why there is none."""
        for asker in self._waiting():
            asker.set_exception(problem)

    def cancel(self) -> None:
        """Leave every asker to whoever serves the account next."""
        for asker in self._waiting():
            asker.cancel()

    def _waiting(self) -> list[asyncio.Future[Report]]:
        return [asker for asker in self.askers if not asker.done()]


class Desk:
    """Where wishes for one account's next cycle are left."""

    def __init__(self) -> None:
        self._wish = Wish()
        self._left = asyncio.Event()

    def ask(self, channel: ChannelId | None) -> asyncio.Future[Report]:
        """Ask for a cycle over *channel*, or over everything; the future is its report."""
        self.hint(channel)
        report: asyncio.Future[Report] = asyncio.get_running_loop().create_future()
        self._wish.askers.append(report)
        return report

    def hint(self, channel: ChannelId | None) -> None:
        """Something changed in *channel*, or nobody knows where."""
        if channel is None:
            self._wish.whole = True
        else:
            self._wish.channels.add(channel)
        self._left.set()

    @property
    def is_asked(self) -> bool:
        """Whether a person waits for the next cycle."""
        return bool(self._wish.askers)

    def take(self) -> Wish:
        """Everything wished for so far; what is wished from now on is for the cycle after."""
        taken, self._wish = self._wish, Wish()
        self._left.clear()
        return taken

    async def left(self) -> None:
        """Wait until something is wished for."""
        await self._left.wait()


@dataclass(frozen=True, slots=True)
class Timetable:
    """How often cycles happen; *every* is None where only those asked for do."""

    every: timedelta | None = timedelta(minutes=60)
    soon: timedelta = SOON

    def pause(self) -> timedelta | None:
        return None if self.every is None else self.every * random.uniform(1, 1 + JITTER)  # noqa: S311 - no secret


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
        """Make cycles for as long as the account is served."""
        desk = self.desk(lane.account.id)
        self._lanes[lane.account.id] = lane
        self._connected.set()
        self._cycled.setdefault(lane.account.id, asyncio.Event())
        beside = [
            asyncio.create_task(self._hear(lane, desk), name=f"hints of {lane.account.name}"),
            asyncio.create_task(self._deepen(lane, desk), name=f"histories of {lane.account.name}"),
        ]
        try:
            if self._times.every is not None:
                desk.hint(None)
                await self._fulfil(lane, desk.take())
            while True:
                await self._next(desk)
                if not desk.is_asked:
                    await self._clock.sleep(self._times.soon)
                await self._fulfil(lane, desk.take())
        finally:
            del self._lanes[lane.account.id]
            for task in beside:
                task.cancel()
            await asyncio.wait(beside)

    async def _next(self, desk: Desk) -> None:
        """Wait for a wish, or for the time of the next cycle to come."""
        pause = self._times.pause()
        waiting = [asyncio.create_task(desk.left())]
        if pause is not None:
            waiting.append(asyncio.create_task(self._clock.sleep(pause)))
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        if waiting[0] not in done:
            desk.hint(None)

    async def _fulfil(self, lane: Lane, wish: Wish) -> None:
        """One cycle, and the archives it left waiting; whoever asked hears how it went.

        A failure goes on to whoever serves the account.
        """
        if not wish:
            return
        account, only = lane.account.id, None if wish.whole else wish.channels
        since = self._counted.get(account, self._started_at)
        try:
            report = await self._cycle(lane, only, since)
            if self._after_cycle is not None:
                await self._after_cycle(lane)
        except NotOurs:
            wish.cancel()  # a command stays with its account: whoever serves it next takes it up again
            raise
        except TidegateError as problem:
            wish.fail(problem)
            raise
        except asyncio.CancelledError:
            wish.cancel()
            raise
        self._counted[account] = await self._mark()
        self._cycled[account].set()
        wish.fulfil(report)

    async def _cycle(self, lane: Lane, only: set[ChannelId] | None, since: int | None) -> Report:
        """One cycle, and what its archives want, in one report."""
        report = await run_cycle(lane, self._database, self._clock, self._habits, only=only, since=since)
        ended = await self._mark()
        await work_off(lane, self._database, self._habits.retries, cycle=report.cycle)
        calls = self._habits.preview_calls_after(whole=report.whole)
        await find_previews(lane, self._database, calls=calls, cycle=report.cycle)
        await self._count_indexing(lane, report, since=ended)
        return report

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

    async def _hear(self, lane: Lane, desk: Desk) -> None:
        """Pass the platform's hints on; the gate is the truth, so a hint that is lost costs only time."""
        while True:
            try:
                hint = await lane.hint()
            except NotOurs:  # no beat just now; when it is back, so are the hints
                await self._clock.sleep(self._times.soon)
            except PlatformError as problem:
                log.debug("hints.ended", account=lane.account.name, problem=str(problem))
                return
            else:
                desk.hint(hint.channel)
