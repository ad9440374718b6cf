"""When accounts whose channels live in guilds have their cycles, and what is done for them besides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from tidegate.clock import Clock
from tidegate.errors import NotOurs, TidegateError
from tidegate.lanes import Lane
from tidegate.mirror.backfill import backfill_missing
from tidegate.mirror.cycle import CycleHabits
from tidegate.mirror.desk import Desk, Wish
from tidegate.mirror.guild_live import GuildLive
from tidegate.mirror.guilds import list_archived, run_guild_cycle
from tidegate.mirror.reconcile import reconcile_due
from tidegate.mirror.report import Report
from tidegate.mirror.rounds import JITTER, SOON
from tidegate.mirror.scan import FINAL, Hand
from tidegate.port import ChannelId
from tidegate.store import cycles, guilds
from tidegate.store.database import AWAY, Database
from tidegate.words import AccountId

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class GuildTimes:
    """How often cycles happen; *every* is None where only those asked for do. *dice* gives a number from 0 to 1."""

    every: timedelta | None = timedelta(minutes=15)
    every_live: timedelta = timedelta(minutes=60)
    soon: timedelta = SOON
    dice: Callable[[], float] = lambda: 0.0

    def pause(self, *, live: bool) -> timedelta | None:
        """How long to wait for the next cycle; None for as long as nobody asks."""
        if self.every is None:
            return None
        return (max(self.every, self.every_live) if live else self.every) * (1 + JITTER * self.dice())


@dataclass(slots=True)
class Served:
    """An account being worked for: what it is done with, where wishes are left, and since when nothing was missed."""

    hand: Hand
    desk: Desk
    live: GuildLive
    since: datetime
    cycled: asyncio.Event


class GuildRounds:
    """The cycles of all such accounts that one process serves."""

    def __init__(self, database: Database, clock: Clock, habits: CycleHabits, times: GuildTimes | None = None) -> None:
        self._database = database
        self._clock = clock
        self._habits = habits
        self._times = times or GuildTimes()
        self._desks: dict[AccountId, Desk] = {}
        self._lanes: dict[AccountId, Lane] = {}
        self._connected = asyncio.Event()
        self._counted: dict[AccountId, int] = {}
        self._started_at: int | None = None

    async def begin(self) -> None:
        """Note where the ledger stands, so that the first cycle's report counts what connecting for it cost."""
        async with self._database.connection() as connection:
            self._started_at = await cycles.mark(connection)

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
        """Make cycles, store what is told live, and read histories on, for as long as the account is served."""
        served = await self._begin(lane)
        beside = [
            asyncio.create_task(served.live.follow(), name=f"news of {lane.account.name}"),
            asyncio.create_task(self._deepen(served), name=f"histories of {lane.account.name}"),
        ]
        try:
            if self._times.every is not None:
                served.desk.hint(None)
                await self._fulfil(served, served.desk.take())
            while True:
                await self._next(served, beside[0])
                if not served.desk.is_asked:
                    await self._clock.sleep(self._times.soon)
                await self._fulfil(served, served.desk.take())
        finally:
            del self._lanes[lane.account.id]
            for task in beside:
                task.cancel()
            await asyncio.wait(beside)

    async def _begin(self, lane: Lane) -> Served:
        account, desk = lane.account.id, self.desk(lane.account.id)
        hand = Hand(lane, self._database, None, self._habits.limits, self._habits.retries)
        async with self._database.connection() as connection:
            since = await connection.fetchval("SELECT clock_now()")
        self._lanes[account] = lane
        self._connected.set()
        return Served(hand, desk, GuildLive(hand, desk, self._clock), since, asyncio.Event())

    async def _next(self, served: Served, following: asyncio.Task[None]) -> None:
        """Wait for a wish, or for the time of the next cycle; while the platform tells everything that is later.

        What stops the live news stops everything.
        """
        if following.done():
            following.result()
        pause = self._times.pause(live=served.hand.lane.told() is not None)
        wishing = asyncio.create_task(served.desk.left())
        own = [wishing] if pause is None else [wishing, asyncio.create_task(self._clock.sleep(pause))]
        try:
            others = [] if following.done() else [following]
            await asyncio.wait([*own, *others], return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                following.result()
            if own[-1].done() and not wishing.done():
                served.desk.hint(None)
        finally:
            for task in own:
                task.cancel()

    async def _fulfil(self, served: Served, wish: Wish) -> None:
        """One cycle; whoever asked hears how it went. A failure goes on to whoever serves the account."""
        if not (wish.whole or wish.channels):
            return
        try:
            report = await self._cycle(served, None if wish.whole else wish.channels)
        except NotOurs:
            wish.cancel()  # a command stays with its account: whoever serves it next takes it up again
            raise
        except TidegateError as problem:
            wish.fail(problem)
            raise
        except asyncio.CancelledError:
            wish.cancel()
            raise
        served.cycled.set()
        wish.fulfil(report)

    async def _cycle(self, served: Served, only: set[ChannelId] | None) -> Report:
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

    # Beside the cycles

    async def _deepen(self, served: Served) -> None:
        """After each cycle go on with what is missing, until nothing is.

        Only where cycles happen by themselves: a command that took the account for its duration does no more than that.
        """
        while self._times.every is not None:
            await served.cycled.wait()
            served.cycled.clear()
            try:
                await self._read_on(served)
            except NotOurs:  # no beat just now; the next cycle is made when it is back
                continue
            except FINAL:
                served.desk.hint(None)  # whoever makes the cycles is told the same, and lets the account go
                return
            except AWAY as problem:
                account = served.hand.lane.account.name
                log.warning("histories.put_off", account=account, problem=str(problem), next="the next cycle")

    async def _read_on(self, served: Served) -> None:
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
