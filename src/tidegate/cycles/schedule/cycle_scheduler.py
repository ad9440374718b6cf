"""Schedules an account's cycles: at the start, at intervals, after a push update, and on request.

One cycle runs at a time. All requests that arrive while it runs share the next one (S-61). Push updates are stored
meanwhile (``cycles.live``). While they arrive, cycles are a safety net and run less often.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import structlog

from tidegate.accounts.queries import accounts
from tidegate.archives.contents_indexer import index_waiting_sets
from tidegate.archives.queries import failures
from tidegate.core.clock import Clock
from tidegate.core.ids import AccountId, CallId, ChannelId, CycleNumber
from tidegate.core.task_groups import beside
from tidegate.cycles.cycle import CyclePolicy, run_cycle
from tidegate.cycles.cycle_report import CycleReport
from tidegate.cycles.field_refill import refill
from tidegate.cycles.live.channel_updates import LiveUpdates
from tidegate.cycles.message_count_check import recount
from tidegate.cycles.preview_search import find_previews
from tidegate.cycles.queries import cycles
from tidegate.cycles.schedule.cycle_loop import CycleLoop, sooner
from tidegate.cycles.schedule.cycle_requests import CycleRequest, CycleRequests
from tidegate.cycles.schedule.cycle_timetable import LOOK_EVERY, CycleTimetable
from tidegate.database.pool import AWAY, Connection, Database, now_of
from tidegate.history.backfill import backfill_missing
from tidegate.history.background.verification import verify_some
from tidegate.history.ingest import IngestTally
from tidegate.lanes import Lane, parking_long_waits
from tidegate.scans.channel_catalogue import list_topics_daily
from tidegate.scans.queries import due_work
from tidegate.scans.queries.due_work import DueWork
from tidegate.scans.scan_context import ScanContext

log = structlog.get_logger()

JUMP = timedelta(minutes=5)
"""How far the database's clock may drift from our monotonic clock before it counts as having been set."""


@dataclass(slots=True)
class _Served:
    """An account being served, and the state its next cycles depend on.

    *all_reported*: whether the last cycle found only what push updates had reported. *begun*: the new channels already
    requested. *judged_at*: when its open sets were last judged. *parked*: rate limited channels (None for the gate),
    each with the clock reading at which the limit ends. *seen_at*: the database's clock and our monotonic clock when
    last compared. *read_again_at*: when to try again to read archives, on a machine that could start no process for it.
    """

    lane: Lane
    loop: CycleLoop
    live: LiveUpdates
    all_reported: bool = False
    begun: set[ChannelId] = field(default_factory=set)
    judged_at: datetime | None = None
    parked: dict[ChannelId | None, float] = field(default_factory=dict)
    seen_at: tuple[datetime, float] | None = None
    read_again_at: float | None = None


class CycleScheduler:
    """The cycles of all accounts that one process serves."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        policy: CyclePolicy,
        times: CycleTimetable | None = None,
        after_cycle: Callable[[Lane], Awaitable[None]] | None = None,
    ) -> None:
        """*after_cycle* processes what a cycle found; the report is returned after that."""
        self._after_cycle = after_cycle
        self._database = database
        self._clock = clock
        self._policy = policy
        self._times = times or CycleTimetable()
        self._requests: dict[AccountId, CycleRequests] = {}
        self._counted: dict[AccountId, CallId] = {}
        self._started_at: CallId | None = None

    async def begin(self) -> None:
        """Note the newest entry of the call log, so that the first cycle's report counts the calls to connect."""
        self._started_at = await self._mark()

    def requests(self, account: AccountId) -> CycleRequests:
        """The requests for cycles of *account*, whether or not it is connected now."""
        return self._requests.setdefault(account, CycleRequests(only_asked=self._times.every is None))

    async def work(self, lane: Lane) -> None:
        """Run cycles, and store push updates between them, while the account is served."""
        requests = self.requests(lane.account.id)
        loop = CycleLoop(lane.account, requests, self._times, self._clock)
        live = LiveUpdates(lane, self._database, self._clock, self._policy, requests, pause=self._times.soon)
        served = _Served(lane, loop, live)
        context = ScanContext(lane, self._database, None, self._policy.limits, self._policy.retries)

        async def read_on() -> timedelta | None:
            done = await backfill_missing(context, self._policy.history)
            with parking_long_waits():  # histories that were just completed can be compared with their counts
                await recount(context, IngestTally())
                again = await refill(context, calls_per_hour=self._policy.refill_calls_per_hour)
                verified = await verify_some(context, self._policy.history)
            return sooner(done.goes_on_after, sooner(again, verified))

        async with beside(live.run(), loop.deepen(read_on)) as (following, _):
            await loop.take(partial(self._next, served, following), partial(self._fulfil, served))

    # What comes next

    async def _next(self, served: _Served, following: asyncio.Task[None]) -> None:
        """Wait for a request, and make one for work that becomes due meanwhile."""
        pause = self._times.pause(live=served.live.is_up and served.all_reported)
        ends = None if pause is None else self._clock.ticks() + pause.total_seconds()
        span = None
        while True:
            if ends is not None:
                span = self._unpark(served)
                span = min(span, await self._look_ahead(served, timedelta(seconds=ends - self._clock.ticks())))
            if await served.loop.requested(span, following):
                return

    def _unpark(self, served: _Served) -> timedelta:
        """Request parked channels that may be read again; returns the time until the next of them."""
        now = self._clock.ticks()
        for channel in [one for one, until in served.parked.items() if until <= now]:
            del served.parked[channel]
            served.loop.requests.hint(channel)
        if served.read_again_at is not None and served.read_again_at <= now:
            served.read_again_at = None
            served.loop.requests.note_archives()
        return timedelta(seconds=min(served.parked.values(), default=now + LOOK_EVERY.total_seconds()) - now)

    async def _look_ahead(self, served: _Served, left: timedelta) -> timedelta:
        """Request what is due, and the next cycle when no time is *left*; returns how long to wait."""
        requests = served.loop.requests
        try:
            ahead = await self._due_work(served, left)
        except AWAY as problem:
            log.warning("agenda.unknown", account=served.lane.account.name, problem=str(problem))
            ahead = None
        until = left if ahead is None or ahead.retry_at is None else min(left, ahead.retry_at - ahead.now)
        if until <= timedelta():
            requests.hint(None)
        if ahead is None:
            return min(until, self._times.look_every)
        for channel in set(ahead.new) - served.begun:
            served.begun.add(channel)  # what cannot be read now is tried again in the next cycle
            requests.hint(channel)
        if ahead.judge_at is not None and ahead.judge_at <= ahead.now:
            requests.note_archives()
        judged = [] if ahead.judge_at is None else [ahead.judge_at - ahead.now]
        return min(until, self._times.look_every, *judged)

    async def _due_work(self, served: _Served, left: timedelta) -> DueWork:
        lane, policy = served.lane, self._policy
        async with self._database.transaction() as connection:
            await self._heed_jump(connection, served)
            ahead = await due_work.load(
                connection, lane.account.id, policy.retries, policy.sets, judged_at=served.judged_at
            )
            until = left if ahead.retry_at is None else min(left, ahead.retry_at - ahead.now)
            await due_work.expect_cycle(connection, lane.claim(), max(until, timedelta()))
        return ahead

    async def _heed_jump(self, connection: Connection, served: _Served) -> None:
        """Move the failures' next tries along with a clock that jumps: they wait for a duration, not for an instant."""
        ticks = self._clock.ticks()
        now = await now_of(connection)
        before, served.seen_at = served.seen_at, (now, ticks)
        if before is None:
            return
        jump = (now - before[0]) - timedelta(seconds=ticks - before[1])
        if abs(jump) > JUMP:
            await accounts.fence(connection, served.lane.claim())
            moved = await failures.move_next_tries(
                connection, served.lane.account.id, jump, self._policy.retries, after=min(before[0], now)
            )
            log.warning("clock.jumped", account=served.lane.account.name, seconds=jump.total_seconds(), failures=moved)

    # Running a request

    async def _fulfil(self, served: _Served, request: CycleRequest) -> None:
        """Run one cycle, and then index the waiting archives; the report goes to the callers that wait for it."""
        report: CycleReport | None = None
        with request.pass_on_errors():
            if request.wants_cycle:
                report = await self._cycle(served, None if request.whole else request.channels)
            elif request.archives:
                async with self._database.transaction() as connection:
                    served.judged_at = await due_work.judge(connection, served.lane.claim(), self._policy.sets)
                await self._after(served, None, whole=False)
            else:
                return
            if self._after_cycle is not None:
                await self._after_cycle(served.lane)
            if report is not None:
                request.fulfil(report)

    async def _cycle(self, served: _Served, only: set[ChannelId] | None) -> CycleReport:
        lane, account = served.lane, served.lane.account.id
        since = self._counted.get(account, self._started_at)
        if only is None:
            async with self._database.connection() as connection:
                served.judged_at = await now_of(connection)
        async with self._database.transaction() as connection:
            await self._heed_jump(connection, served)
        report = await run_cycle(lane, self._database, self._clock, self._policy, only=only, since=since)
        if only is None:
            # Only the gate knew of a change, so a push update was lost: run the next cycle sooner.
            served.all_reported = not report.changed
            served.begun.clear()
        now = self._clock.ticks()
        served.parked |= {channel: now + pause.total_seconds() for channel, pause in report.parked.items()}
        ended = await self._mark()
        await self._after(served, report.cycle, whole=report.whole)
        await self._count_indexing(lane, report, since=ended)
        self._counted[account] = await self._mark()
        served.loop.cycled.set()
        return report

    async def _after(self, served: _Served, cycle: CycleNumber | None, *, whole: bool) -> None:
        """The work after a cycle: process what it found, and list the topics once a day."""
        lane = served.lane
        with parking_long_waits():
            while (worked := await index_waiting_sets(lane, self._database, self._policy.retries, cycle=cycle)).more:
                if self._times.every is not None:  # the rest is done later, after other requests
                    served.loop.requests.note_archives()
                    break
            served.read_again_at = self._clock.ticks() + LOOK_EVERY.total_seconds() if worked.paused else None
            calls = self._policy.preview_calls_after(whole=whole)
            await find_previews(lane, self._database, calls=calls, cycle=cycle)
            await list_topics_daily(lane, self._database)
        await lane.write_ledger()

    async def _mark(self) -> CallId:
        async with self._database.connection() as connection:
            return await cycles.mark(connection)

    async def _count_indexing(self, lane: Lane, report: CycleReport, *, since: CallId) -> None:
        """Add the calls for archives after the cycle to its report, so that the sum matches the call log."""
        await lane.write_ledger()
        async with self._database.transaction() as connection:
            spent = await cycles.spent(connection, lane.account.id, report.cycle, since=since)
            report.indexing_calls = spent.calls
            report.connect_calls += spent.connect_calls
            if report.kept is not None:
                await cycles.complete(connection, report.kept, report.as_json())
