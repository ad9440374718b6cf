"""Schedules the cycles of accounts with guilds, and the other work done for them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from tidegate.channels.queries import guilds
from tidegate.core.clock import Clock
from tidegate.core.ids import AccountId, CallId, ChannelId
from tidegate.core.task_groups import beside
from tidegate.cycles.archived_threads import list_archived
from tidegate.cycles.cycle import CyclePolicy
from tidegate.cycles.cycle_report import CycleReport
from tidegate.cycles.field_refill import refill
from tidegate.cycles.guild_cycle import run_guild_cycle
from tidegate.cycles.live.guild_events import GuildEvents
from tidegate.cycles.message_count_check import recount
from tidegate.cycles.queries import cycles
from tidegate.cycles.schedule.cycle_loop import CycleLoop, sooner
from tidegate.cycles.schedule.cycle_requests import CycleRequest, CycleRequests
from tidegate.cycles.schedule.cycle_timetable import CycleTimetable
from tidegate.database.pool import Database, now_of
from tidegate.history.backfill import backfill_missing
from tidegate.history.background.verification import verify_some
from tidegate.history.ingest import IngestTally
from tidegate.history.newest_reconciliation import reconcile_due
from tidegate.lanes import Lane, parking_long_waits
from tidegate.scans.scan_context import ScanContext

LISTED_AGAIN = 20
"""For how many channels archived threads are listed again after a cycle: one call each, at most once a day."""


@dataclass(slots=True)
class _Served:
    """An account being served: its context, its cycle loop, its push updates, and since when none was missed.

    *survey_waits* is how long the survey of all guilds is rate limited, as of the last cycle.
    """

    context: ScanContext
    loop: CycleLoop
    live: GuildEvents
    since: datetime
    survey_waits: timedelta | None = None


class GuildScheduler:
    """The cycles of all such accounts that one process serves."""

    def __init__(self, database: Database, clock: Clock, policy: CyclePolicy, times: CycleTimetable) -> None:
        self._database = database
        self._clock = clock
        self._policy = policy
        self._times = times
        self._requests: dict[AccountId, CycleRequests] = {}
        self._counted: dict[AccountId, CallId] = {}
        self._started_at: CallId | None = None

    async def begin(self) -> None:
        """Note the newest entry of the call log, so that the first cycle's report counts the calls to connect."""
        async with self._database.connection() as connection:
            self._started_at = await cycles.mark(connection)

    def requests(self, account: AccountId) -> CycleRequests:
        """The requests for cycles of *account*, whether or not it is connected now."""
        return self._requests.setdefault(account, CycleRequests(only_asked=self._times.every is None))

    async def work(self, lane: Lane) -> None:
        """Run cycles, store push updates, and continue histories, while the account is served."""
        requests = self.requests(lane.account.id)
        context = ScanContext(lane, self._database, None, self._policy.limits, self._policy.retries)
        async with self._database.connection() as connection:
            since = await now_of(connection)
        loop = CycleLoop(lane.account, requests, self._times, self._clock)
        served = _Served(context, loop, GuildEvents(context, requests, self._clock), since)
        async with beside(served.live.follow(), loop.deepen(partial(self._read_on, served))) as (following, _):
            await loop.take(partial(self._next, served, following), partial(self._fulfil, served))

    async def _next(self, served: _Served, following: asyncio.Task[None]) -> None:
        """Wait for a request, or for the time of the next cycle, which is later while push updates arrive."""
        pause = self._times.pause(live=served.context.lane.known_heads() is not None)
        if pause is not None and served.survey_waits is not None:
            pause = min(pause, served.survey_waits)
        if not await served.loop.requested(pause, following):
            served.loop.requests.hint(None)

    async def _fulfil(self, served: _Served, request: CycleRequest) -> None:
        """Run one cycle; the report goes to the callers that wait for it."""
        if request.wants_cycle:
            with request.pass_on_errors():
                report = await self._cycle(served, None if request.whole else request.channels)
            served.loop.cycled.set()
            request.fulfil(report)

    async def _cycle(self, served: _Served, only: set[ChannelId] | None) -> CycleReport:
        lane = served.context.lane
        report = await run_guild_cycle(
            lane,
            self._database,
            self._clock,
            self._policy,
            heads=served.live.heads,
            only=only,
            since=self._counted.get(lane.account.id, self._started_at),
            compared_since=served.since if self._times.every is None else None,
        )
        served.survey_waits = report.parked.get(None)
        async with self._database.connection() as connection:
            self._counted[lane.account.id] = await cycles.mark(connection)
        return report

    async def _read_on(self, served: _Served) -> timedelta | None:
        """Read what is incomplete; returns when to come back to parked channels.

        First histories with missing messages. Then, once per channel, the threads archived before the first connection.
        Then messages that may have been edited or deleted while no push updates arrived.
        """
        with parking_long_waits():
            return await self._read_on_unparked(served)

    async def _read_on_unparked(self, served: _Served) -> timedelta | None:
        context = served.context
        done = await backfill_missing(context, self._policy.history)
        async with self._database.connection() as connection:
            parents = await guilds.never_listed(connection, context.lane.account.id)
            again = await guilds.listed_long_ago(connection, context.lane.account.id, most=LISTED_AGAIN)
            if served.live.lost_updates():
                served.since = await now_of(connection)
        for parent in parents:
            await list_archived(context, parent, [], private=True)
        for parent in again:  # nothing else reports a thread created and archived unseen, under an old message
            await list_archived(context, parent, [])
        if parents or again:
            done = await backfill_missing(context, self._policy.history)
        await recount(context, IngestTally())
        await reconcile_due(context, self._policy.history, since=served.since)
        again_at = await refill(context, calls_per_hour=self._policy.refill_calls_per_hour)
        verified = await verify_some(context, self._policy.history)
        return sooner(done.goes_on_after, sooner(again_at, verified))
