"""The runs of all accounts that one process serves: for each account one at a time, accounts side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta

import structlog

from tidegate.clock import Clock
from tidegate.errors import PlatformError
from tidegate.lanes import Lane
from tidegate.reminders.deliver import Delivery, Habits, Progress
from tidegate.reminders.due import open_due
from tidegate.reminders.ending import settle
from tidegate.reminders.receipts import hear_arrivals
from tidegate.reminders.resume import take_up
from tidegate.reminders.sending import Sender
from tidegate.reminders.uploads import Uploads
from tidegate.rules.delivering import RunState
from tidegate.side_by_side import together
from tidegate.store import run_parts, runs
from tidegate.store.database import AWAY, Database
from tidegate.store.runs import Run, Wants
from tidegate.words import AccountId, Platform, RunId

log = structlog.get_logger()

LOOK_EVERY = timedelta(minutes=15)
"""How often an account with nothing to do looks for what nobody told it of."""

IDLE_FOR = timedelta(minutes=2)
"""How long an account that sends nothing, since it was asked to wait or has had its day's share, keeps its turn."""

AWAY_FOR = timedelta(seconds=1)
SHORTEST_WAIT = timedelta(milliseconds=50)

BARRED = "The account may not post in this group."

Refresh = Callable[[Lane], Awaitable[object]]
"""Lists an account's groups anew, where its platform has to be asked before each run."""


class Deliveries:
    """Opens runs when they are due and delivers them, for as long as accounts are served."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        habits: Habits,
        *,
        refresh: Mapping[Platform, Refresh] | None = None,
        by_itself: bool = True,
    ) -> None:
        """Without *by_itself* only runs that a command asks for are delivered, and none is opened."""
        self._database = database
        self._clock = clock
        self._habits = habits
        self._refresh = refresh or {}
        self._seats = asyncio.Semaphore(habits.accounts_at_once)
        self._bells: dict[AccountId, asyncio.Event] = {}
        self._asked: set[RunId] | None = None if by_itself else set()

    def look(self, account: AccountId) -> None:
        """Something about an account's reminders or runs has changed."""
        self._bells.setdefault(account, asyncio.Event()).set()

    async def deliver(self, account: AccountId, number: RunId) -> Run:
        """Have one run delivered and wait until it comes to rest."""
        if self._asked is not None:
            self._asked.add(number)
        self.look(account)
        while True:
            async with self._database.connection() as connection:
                run = await runs.find(connection, number)
            if run.state is not RunState.RUNNING:
                return run
            await self._clock.sleep(timedelta(milliseconds=200))

    async def work(self, lane: Lane) -> None:
        """Deliver an account's runs, one at a time, for as long as it is served."""
        bell = self._bells.setdefault(lane.account.id, asyncio.Event())
        jobs = [self._turns(lane, bell)]
        if lane.acknowledges:
            jobs.append(hear_arrivals(lane, self._database, bell.set))
        if self._habits.groups_at_once > 1 and lane.account.platform is Platform.WHATSAPP:
            log.info("delivery.one_at_a_time", account=lane.account.name, reason="WhatsApp's client sends in turn")
        await together(*jobs)

    async def _turns(self, lane: Lane, bell: asyncio.Event) -> None:
        taken_up = False
        while True:
            bell.clear()
            try:
                if not taken_up:
                    await take_up(lane, self._database)
                    taken_up = True
                run = await self._next(lane)
                if run is not None:
                    async with self._seats:
                        await self._turn(lane, run, bell)
                    continue
                moment = await self._next_moment(lane)
            except AWAY as problem:
                log.warning("deliveries.put_off", account=lane.account.name, problem=str(problem))
                moment = AWAY_FOR
            await self._rung_or_after(bell, moment)

    async def _next(self, lane: Lane) -> RunId | None:
        """Open what is due, move on what has come to rest, and say which run has something to send."""
        wants = await self._wants(lane)
        opens = wants.is_due and self._asked is None
        if opens:
            await open_due(self._database, lane.claim())
        for number in wants.at_rest:
            async with self._database.transaction() as connection:
                await settle(connection, number)
        if opens or wants.at_rest:
            wants = await self._wants(lane)
        return wants.next_to_send

    async def _wants(self, lane: Lane) -> Wants:
        async with self._database.connection() as connection:
            return await runs.wants(connection, lane.account.id, only=self._asked)

    async def _next_moment(self, lane: Lane) -> timedelta:
        async with self._database.connection() as connection:
            left = await runs.next_moment(connection, lane.account.id)
        return LOOK_EVERY if left is None else min(left, LOOK_EVERY)

    async def _rung_or_after(self, bell: asyncio.Event, span: timedelta) -> None:
        """Wait until something changed or so much time has passed."""
        ringing = asyncio.ensure_future(bell.wait())
        sleeping = asyncio.ensure_future(self._clock.sleep(max(span, SHORTEST_WAIT)))
        try:
            await asyncio.wait({ringing, sleeping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ringing.cancel()
            sleeping.cancel()

    # One turn of one run

    async def _turn(self, lane: Lane, number: RunId, bell: asyncio.Event) -> None:
        delivery = await self._delivery(lane, await self._begin(lane, number))
        going = asyncio.create_task(delivery.go(self._at_once(lane)))
        giving_up = asyncio.create_task(self._stop_idle(delivery))
        try:
            while not going.done():
                await self._until_news(going, bell)
                if bell.is_set():
                    bell.clear()
                    if not await self._is_running(number):
                        delivery.stop()
            await going
        finally:
            giving_up.cancel()
            going.cancel()
            await asyncio.gather(going, return_exceptions=True)

    async def _stop_idle(self, delivery: Delivery) -> None:
        """End the turn of an account that cannot send while others wait; it comes again after them."""
        ended = -1
        while delivery.ended != ended or not (self._seats.locked() and delivery.is_held_up):
            ended = delivery.ended
            await self._clock.sleep(IDLE_FOR)
        delivery.stop()

    async def _begin(self, lane: Lane, number: RunId) -> Run:
        """Note that a run begins; where groups have to be listed for it, do so once."""
        async with self._database.transaction() as connection:
            run = await runs.begin_turn(connection, number)
        refresh = self._refresh.get(lane.account.platform)
        if run.began_at is not None or refresh is None:
            return run
        try:
            await refresh(lane)
        except PlatformError as problem:  # the groups are as they were known; a send tells if that is wrong
            log.warning("groups.not_listed", account=lane.account.name, run=number, problem=str(problem))
        else:
            async with self._database.transaction() as connection:
                await run_parts.fail_barred(connection, number, lane.account.id, BARRED)
        async with self._database.connection() as connection:
            return await runs.find(connection, number)  # listing takes a while, and the window is closing

    async def _delivery(self, lane: Lane, run: Run) -> Delivery:
        async with self._database.connection() as connection:
            parts = await run_parts.to_deliver(connection, run.id)
        progress = Progress(run, parts, self._clock)
        uploads = Uploads(lane, self._database, run.id, dice=self._habits.dice)
        sender = Sender(run, lane, self._database, self._clock, uploads, progress.note)
        return Delivery(parts, progress, sender, clock=self._clock, dice=self._habits.dice)

    def _at_once(self, lane: Lane) -> int:
        return 1 if lane.account.platform is Platform.WHATSAPP else self._habits.groups_at_once

    async def _until_news(self, going: asyncio.Task[None], bell: asyncio.Event) -> None:
        ringing = asyncio.create_task(bell.wait())
        try:
            await asyncio.wait({going, ringing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ringing.cancel()

    async def _is_running(self, number: RunId) -> bool:
        try:
            async with self._database.connection() as connection:
                run = await runs.find(connection, number)
        except AWAY:
            return True  # every claim asks again
        return run.state is RunState.RUNNING and run.cancelled_at is None
