"""Puts a process together. It loads no platform's library, so a command that needs none starts quickly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import structlog

from tidegate import __version__
from tidegate.accounts.key_ring import KeyRing
from tidegate.accounts.queries.secrets import AccountVault, open_ring
from tidegate.app import loop_lag
from tidegate.app.platform_registry import platforms
from tidegate.app.policies import media_setup, media_store
from tidegate.app.settings import Settings
from tidegate.core.account import Account, Standing
from tidegate.core.clock import Clock, SystemClock
from tidegate.core.ids import AccountId
from tidegate.core.platform import Platform
from tidegate.core.process.memory import give_back
from tidegate.database.embedded.server import ServerLease
from tidegate.database.pool import TROUBLE, Address, Database
from tidegate.database.pooler_check import refuse_transaction_pooler
from tidegate.lanes import ReadLimits, SendLimits
from tidegate.lanes.queries.calls import CallLog
from tidegate.lanes.rules.pace_bucket import Pace
from tidegate.lanes.rules.send_caps import Caps, WarmUp
from tidegate.lanes.rules.slowdown_after_warning import Allowance
from tidegate.maintenance import hour_sums
from tidegate.maintenance.database_opening import prepare
from tidegate.maintenance.retention import Retention, sweep
from tidegate.media.store_maintenance import sweep_daily
from tidegate.media.thumbnails.thumbnail_loop import ThumbnailLoop
from tidegate.platforms.interface import Opener
from tidegate.search.index_builder import keep_indexes
from tidegate.workers.account_service import AccountLimits, ServingDeps, Work
from tidegate.workers.command_loop import Handler
from tidegate.workers.dead_process_check import this_host, this_process
from tidegate.workers.queries.workers import WorkerIdentity
from tidegate.workers.worker import Worker

SWEEP_EVERY = timedelta(hours=1)
RESERVED_CONNECTIONS = 2
"""For the worker's beats and commands, so that no amount of other work delays them."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Runtime:
    """An open database and the settings it was opened with."""

    settings: Settings
    database: Database


@asynccontextmanager
async def open_runtime(settings: Settings) -> AsyncIterator[Runtime]:
    """Open the database, embedded or the operator's own, at the schema this code knows."""
    async with open_address(settings) as address:
        await prepare(address, embedded=settings.database_url is None)
        database = await Database.open(address, connections=settings.database_connections)
        try:
            yield Runtime(settings, database)
        finally:
            await database.close()


@asynccontextmanager
async def open_address(settings: Settings) -> AsyncIterator[Address]:
    """The database's address; starts the embedded server when no other is set, and leaves it at the end."""
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        direct = settings.database_direct_url.get_secret_value() if settings.database_direct_url else url
        yield Address(url=url, direct=direct)
        return
    lease = await asyncio.to_thread(ServerLease, settings.home)
    try:
        yield lease.address
    finally:
        await asyncio.to_thread(lease.leave)


async def run_worker(
    runtime: Runtime,
    *,
    openers: Mapping[Platform, Opener],
    work: Work,
    stop: asyncio.Event,
    handlers: Mapping[str, Handler] | None = None,
    only: AccountId | None = None,
) -> None:
    """Serve accounts until *stop* is set, then hand them over; *only* one of them where it is given."""
    settings, database, clock = runtime.settings, runtime.database, SystemClock()
    await refuse_transaction_pooler(database.address)
    ring = await key_ring(runtime)
    call_log = CallLog(database, clock)
    deps = ServingDeps(
        database=database,
        clock=clock,
        call_log=call_log,
        openers=openers,
        vault=lambda account: AccountVault(database, ring, account),
        limits=lambda account: limits_of(settings, account),
        work=work,
    )
    patience = {platform: settings.silent_takeover_for(platform) for platform in platforms()}
    identity = _identity(settings, database)
    if only is not None:
        identity = replace(identity, name=f"{identity.name}-for-{only}", seats=0)
    reserved = await Database.open(database.address, connections=RESERVED_CONNECTIONS, name=database.name)
    worker = Worker(deps, identity, database=reserved, patience=patience, handlers=handlers, only=only)
    thumbnails = ThumbnailLoop(database, media_store(settings), settings.home / "media" / "drawn")
    jobs = (
        loop_lag.watch(clock),
        give_back(clock, database.renew_sessions),
        _sweep_hourly(settings, database, clock),
        sweep_daily(database, media_setup(settings), clock),
        thumbnails.run(clock),
        keep_indexes(database, clock),
    )
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        await worker.run(stop)
    finally:
        for task in tasks:
            task.cancel()
        await call_log.close()
        await reserved.close()


async def key_ring(runtime: Runtime) -> KeyRing:
    """The keys that seal secrets at rest: the operator's own, or those of the data folder."""
    written = runtime.settings.key.get_secret_value() if runtime.settings.key else None
    return await open_ring(runtime.database, runtime.settings.home, written)


def allowance_of(settings: Settings, platform: Platform, standing: Standing) -> Allowance:
    """What an account may send, by its platform and standing."""
    warms_up = settings.warm_up and platform.warms_up and standing is Standing.NEW
    return Allowance(
        ceiling=settings.sends_per_minute(platform, standing),
        burst=settings.send_burst,
        caps=Caps(per_hour=settings.sends_per_hour, per_day=settings.sends_per_day),
        warm_up=WarmUp(
            first_day=settings.warm_up_first_day,
            growth=settings.warm_up_growth,
            days=settings.warm_up_days,
            again_after=settings.warm_up_again_after,
        )
        if warms_up
        else None,
    )


def limits_of(settings: Settings, account: Account) -> AccountLimits:
    """How fast an account may read and send, and how much one chat may get where its platform limits that."""
    in_a_chat = settings.chat_sends_per_minute(account.platform)
    return AccountLimits(
        reads=ReadLimits(settings.reads_per_second(account.platform), settings.reads_at_once(account.platform)),
        sends=SendLimits(
            allowance=allowance_of(settings, account.platform, account.standing),
            at_once=1 if account.platform.sends_one_at_a_time else settings.group_concurrency,
            chat=Pace(rate=in_a_chat) if in_a_chat else None,
        ),
    )


def _identity(settings: Settings, database: Database) -> WorkerIdentity:
    return WorkerIdentity(
        name=settings.worker_name,
        sessions=database.name,
        host=this_host(),
        process=this_process(),
        version=__version__,
        seats=settings.seats,
        time_out=settings.time_out,
    )


async def _sweep_hourly(settings: Settings, database: Database, clock: Clock) -> None:
    """Delete rows whose retention has ended, and keep the sums of the charts; one worker at a time does it.

    Invariant: everything-kept-ends.
    """
    keep = Retention(
        calls=settings.keep_calls_for,
        events=settings.keep_events_for,
        commands=settings.keep_commands_for,
        runs=settings.keep_runs_for,
        expired_messages=settings.expired_messages,
    )
    while True:
        try:
            removed = {what: count for what, count in (await sweep(database, keep)).items() if count}
            counted = await hour_sums.fill(database)
            await hour_sums.note_storage(database)
        except TROUBLE as problem:
            log.warning("retention.put_off", problem=str(problem))
        else:
            if removed:
                log.info("retention.swept", **removed)
            if counted:
                log.info("hour_sums.filled", stretches=counted)
        await clock.sleep(SWEEP_EVERY)
