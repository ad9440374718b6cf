"""The runs of the accounts that one process serves: one run at a time per account, accounts in parallel."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog

from tidegate.core.clock import Clock
from tidegate.core.errors import PlatformError
from tidegate.core.ids import AccountId, RunId
from tidegate.core.task_groups import beside, first_of, together
from tidegate.database.pool import AWAY, Database
from tidegate.lanes import Lane
from tidegate.reminders.queries import run_parts, runs
from tidegate.reminders.queries.runs import DueRuns, Run
from tidegate.reminders.rules.run_summary import RunState
from tidegate.reminders.runs.arrival_notices import note_arrivals
from tidegate.reminders.runs.crash_recovery import recover_parts
from tidegate.reminders.runs.run_next_state import advance
from tidegate.reminders.runs.run_start import open_due
from tidegate.reminders.runs.run_worker import RunPolicy, RunWorker

log = structlog.get_logger()

LOOK_EVERY = timedelta(minutes=15)
"""How often an account with nothing to do looks for work, in case no notice arrived."""

IDLE_FOR = timedelta(minutes=2)
"""How long an account that cannot send keeps its slot: it is rate limited, or has used up its daily limit."""

AWAY_FOR = timedelta(seconds=1)
"""How long to wait after the database could not be reached."""

SHORTEST_WAIT = timedelta(milliseconds=50)

BARRED = "The account may not post in this group."

Refresh = Callable[[Lane], Awaitable[object]]
"""Lists an account's groups again, for a platform that must be asked before each run."""


class RunScheduler:
    """Opens runs when they are due and sends them, for as long as accounts are served."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        policy: RunPolicy,
        *,
        refresh: Refresh | None = None,
        by_itself: bool = True,
    ) -> None:
        """*refresh* lists the groups of an account that no cycle lists.

        Without *by_itself* only runs that a command asks for are sent, and none is opened.
        """
        self._database = database
        self._clock = clock
        self._policy = policy
        self._refresh = refresh
        self._slots = asyncio.Semaphore(policy.accounts_at_once)
        self._changes: dict[AccountId, asyncio.Event] = {}
        self._asked: set[RunId] | None = None if by_itself else set()

    def look(self, account: AccountId) -> None:
        """Something about an account's reminders or runs has changed."""
        self._changes.setdefault(account, asyncio.Event()).set()

    async def send_and_wait(self, account: AccountId, number: RunId) -> Run:
        """Have one run sent, and wait until it is no longer running."""
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
        """Send an account's runs, one at a time, for as long as the account is served."""
        changed = self._changes.setdefault(lane.account.id, asyncio.Event())
        jobs = [self._send_runs(lane, changed)]
        if lane.acknowledges:
            jobs.append(note_arrivals(lane, self._database, changed.set))
        if self._policy.groups_at_once > 1 and lane.account.platform.sends_one_at_a_time:
            reason = f"{lane.account.platform.brand}'s client sends one message at a time"
            log.info("delivery.one_at_a_time", account=lane.account.name, reason=reason)
        await together(*jobs)

    async def _send_runs(self, lane: Lane, changed: asyncio.Event) -> None:
        recovered = False
        while True:
            changed.clear()
            try:
                if not recovered:
                    await recover_parts(lane, self._database)
                    recovered = True
                due = await self._due(lane)
                if due.next_to_send is not None:
                    async with self._slots:
                        await self._send(lane, due.next_to_send, changed)
                    continue
                async with self._database.connection() as connection:
                    left = await runs.next_moment(connection, lane.account.id)
                wait = LOOK_EVERY if left is None else min(left, LOOK_EVERY)
            except AWAY as problem:
                log.warning("deliveries.put_off", account=lane.account.name, problem=str(problem))
                wait = AWAY_FOR
            await first_of(changed.wait(), self._clock.sleep(max(wait, SHORTEST_WAIT)))

    async def _due(self, lane: Lane) -> DueRuns:
        """What there is to send, after opening the runs that are due and advancing those that have nothing to send."""
        async with self._database.connection() as connection:
            due = await runs.due(connection, lane.account.id, only=self._asked)
        opens = due.has_firing and self._asked is None
        if not opens and not due.at_rest:
            return due
        if opens:
            await open_due(self._database, lane.claim())
        for number in due.at_rest:
            async with self._database.transaction() as connection:
                await advance(connection, number)
        async with self._database.connection() as connection:
            return await runs.due(connection, lane.account.id, only=self._asked)

    # One run

    async def _send(self, lane: Lane, number: RunId, changed: asyncio.Event) -> None:
        """Send what can be sent of a run now; a change of the run may stop it early."""
        async with self._database.transaction() as connection:
            run = await runs.begin(connection, number)
        if run.began_at is None and self._refresh is not None and not lane.account.platform.can_be_mirrored:
            run = await self._list_groups(self._refresh, lane, number)
        async with self._database.connection() as connection:
            parts = await run_parts.of_run(connection, number)
        worker = RunWorker(run, parts, lane, self._database, clock=self._clock, policy=self._policy)
        async with beside(worker.work(), self._stop_idle(worker)) as (working, _):
            while not working.done():
                async with beside(changed.wait()) as [change]:
                    await asyncio.wait({working, change}, return_when=asyncio.FIRST_COMPLETED)
                if changed.is_set():
                    changed.clear()
                    if not await self._is_running(number):
                        worker.stop()
            await working

    async def _stop_idle(self, worker: RunWorker) -> None:
        """Free the slot of an account that cannot send while others wait for one; it queues behind them."""
        ended = -1
        while worker.ended != ended or not (self._slots.locked() and worker.is_held_up):
            ended = worker.ended
            await self._clock.sleep(IDLE_FOR)
        worker.stop()

    async def _list_groups(self, refresh: Refresh, lane: Lane, number: RunId) -> Run:
        """List an account's groups before the first send of a run; returns the run as it is afterwards."""
        try:
            await refresh(lane)
        except PlatformError as problem:  # the known groups are used; a send fails where they are out of date
            log.warning("groups.not_listed", account=lane.account.name, run=number, problem=str(problem))
        else:
            async with self._database.transaction() as connection:
                await run_parts.fail_barred(connection, number, lane.account.id, BARRED)
        async with self._database.connection() as connection:
            return await runs.find(connection, number)  # listing takes a while, and the window is closing

    async def _is_running(self, number: RunId) -> bool:
        try:
            async with self._database.connection() as connection:
                run = await runs.find(connection, number)
        except AWAY:
            return True  # every claim checks again
        return run.state is RunState.RUNNING and run.cancelled_at is None
