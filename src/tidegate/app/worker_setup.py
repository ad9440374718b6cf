"""What a worker does for its accounts: cycles, filing and reminders, and the commands it handles."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from tidegate.app.composition import Runtime
from tidegate.app.doctor.platform_checks import PROBE, probe
from tidegate.app.history_commands import history_handlers
from tidegate.app.platform_registry import openers, platforms
from tidegate.app.policies import filing_policy, media_setup, policy_of
from tidegate.app.settings import Settings
from tidegate.archives.filing.queues import FilingLoop
from tidegate.channels.queries import channels
from tidegate.core.clock import Clock, SystemClock
from tidegate.core.ids import RunId, UserId
from tidegate.core.platform import Platform
from tidegate.core.task_groups import together
from tidegate.cycles.guild_cycle import open_chat, sync_guilds
from tidegate.cycles.schedule.cycle_scheduler import CycleScheduler
from tidegate.cycles.schedule.cycle_timetable import CycleTimetable
from tidegate.cycles.schedule.guild_scheduler import GuildScheduler
from tidegate.database.pool import Database
from tidegate.lanes import Lane, parking_long_waits
from tidegate.media.media_loop import MediaLoop
from tidegate.platforms.interface import Opener
from tidegate.reminders.private_test import TEST_PRIVATELY, send_to_self
from tidegate.reminders.queries.runs import LOOK_AT_RUNS
from tidegate.reminders.runs.run_scheduler import RunScheduler
from tidegate.reminders.runs.run_worker import RunPolicy
from tidegate.scans.channel_catalogue import sync_channels
from tidegate.scans.queries import scan_memory
from tidegate.scans.scan_context import ScanContext
from tidegate.workers.account_service import AccountService, Work
from tidegate.workers.command_loop import Handler


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """What a worker can do: connect accounts, work for them, and handle commands."""

    openers: Mapping[Platform, Opener]
    work: Work
    handlers: Mapping[str, Handler]


class WorkerServices:
    """The work of one process for the accounts it serves, and the handlers of its commands."""

    def __init__(self, runtime: Runtime, clock: Clock, *, every: timedelta | None, others: Work | None = None) -> None:
        """*every* is how often cycles are made, None for on command alone.

        Accounts that cannot be mirrored are served by *others* where it is given.
        """
        settings, database = runtime.settings, runtime.database
        by_itself = every is not None
        self._database = database
        self._policy = policy_of(settings)
        self._others = others
        self._filing = FilingLoop(database, clock, filing_policy(settings, self._policy), beside_cycles=by_itself)
        self._cycles = CycleScheduler(
            database,
            clock,
            self._policy,
            CycleTimetable(every, every_live=settings.cycle_every_live, dice=random.random),
            self._filing.after_cycle,
        )
        self._guild_cycles = {
            platform: GuildScheduler(
                database, clock, self._policy, guild_times(settings, platform, by_itself=by_itself)
            )
            for platform in platforms()
            if platform.has_guilds
        }
        self._by_itself = by_itself
        self._media = MediaLoop(database, clock, media_setup(settings))
        self._runs = RunScheduler(
            database,
            clock,
            run_policy(settings),
            refresh=partial(sync_channels, database=database),
            by_itself=by_itself,
        )

    async def begin(self) -> None:
        """Note the number of the last cycle before the first account is connected."""
        await self._cycles.begin()
        for scheduler in self._guild_cycles.values():
            await scheduler.begin()

    async def work(self, lane: Lane) -> None:
        """Work for an account while it is served, as its platform allows."""
        platform = lane.account.platform
        if self._others is not None and not platform.can_be_mirrored:
            await self._others(lane)
            return
        jobs = [self._runs.work(lane)]
        if platform.can_be_mirrored:
            jobs.append(self._cycles_of(platform).work(lane))
        if platform.has_archives:
            jobs.append(self._filing.work(lane))
        if platform.can_be_mirrored and self._by_itself:
            jobs.append(self._media.work(lane))
        await together(*jobs)

    def handlers(self) -> Mapping[str, Handler]:
        """The commands that a worker handles, by their kind."""
        return {
            "cycle": self._cycle,
            "sync": self._sync,
            "sign_out": _sign_out,
            LOOK_AT_RUNS: self._look,
            "deliver": self._deliver,
            TEST_PRIVATELY: self._test_privately,
            PROBE: probe,
            "fetch_media": self._fetch_media,
            **history_handlers(self._database, self._policy),
        }

    def _cycles_of(self, platform: Platform) -> CycleScheduler | GuildScheduler:
        return self._guild_cycles.get(platform, self._cycles)

    async def _cycle(self, serving: AccountService, args: dict[str, Any]) -> dict[str, Any]:
        channel = await _ask_by_hand(self._database, args["channel"]) if args.get("channel") else None
        requests = self._cycles_of(serving.account.platform).requests(serving.account.id)
        return (await requests.ask(channel)).as_json()

    async def _sync(self, serving: AccountService, args: dict[str, Any]) -> dict[str, Any]:
        """List channels, or with a *person* learn of the private chat with them alone."""
        lane = await serving.connected()
        with parking_long_waits():
            context = ScanContext(lane, self._database, None, self._policy.limits, self._policy.retries)
            if args.get("person") is not None:
                chat = await open_chat(context, UserId(int(args["person"])))
                async with self._database.connection() as connection:
                    return {"channels": await channels.count_seen(connection, serving.account.id), "chat": chat}
            if not lane.has_guilds:
                return {"channels": await sync_channels(lane, self._database)}
            return {"channels": await sync_guilds(context)}

    async def _look(self, serving: AccountService, _: dict[str, Any]) -> None:
        self._runs.look(serving.account.id)

    async def _deliver(self, serving: AccountService, args: dict[str, Any]) -> dict[str, Any]:
        run = await self._runs.send_and_wait(serving.account.id, RunId(args["run"]))
        return {"state": run.state.value}

    async def _fetch_media(self, serving: AccountService, _: dict[str, Any]) -> dict[str, Any]:
        lane = await serving.connected()
        result = await self._media.fetch(lane)
        await lane.write_ledger()
        return asdict(result)

    async def _test_privately(self, serving: AccountService, args: dict[str, Any]) -> dict[str, Any]:
        lane = await serving.connected()
        return await send_to_self(lane, self._database, args["reminder"], dice=random.random)


async def _sign_out(serving: AccountService, _: dict[str, Any]) -> None:
    lane = await serving.connected()
    await lane.sign_out()
    await lane.write_ledger()


async def worker_setup(runtime: Runtime, *, others: WorkerSetup | None = None, every: timedelta | None) -> WorkerSetup:
    """A worker that mirrors and sends: a cycle at the start and then after *every*; None is on command alone.

    Accounts that cannot be mirrored are connected and served by *others* where it is given.
    """
    clock = SystemClock()
    service = WorkerServices(runtime, clock, every=every, others=others.work if others else None)
    await service.begin()
    replaced = {one: opener for one, opener in others.openers.items() if not one.can_be_mirrored} if others else {}
    return WorkerSetup({**openers(runtime, clock), **replaced}, service.work, service.handlers())


def run_policy(settings: Settings) -> RunPolicy:
    """How many accounts and groups are sent to at once."""
    return RunPolicy(random.random, settings.fire_concurrency, settings.group_concurrency)


def guild_times(settings: Settings, platform: Platform, *, by_itself: bool) -> CycleTimetable:
    """How often an account's guilds are scanned; on command alone without *by_itself*."""
    every = settings.guild_cycle_every(platform) if by_itself else None
    return CycleTimetable(every, every_live=settings.guild_cycle_every_live(platform), dice=random.random)


async def _ask_by_hand(database: Database, named: str) -> Any:
    async with database.transaction() as connection:
        kept = await channels.find(connection, named)
        await scan_memory.ask(connection, kept.key)
    return kept.number
