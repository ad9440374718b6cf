"""Puts the house together. It names no concrete platform, so that a command that needs none loads none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import structlog

from tidegate import __version__, lag
from tidegate.clock import Clock, SystemClock
from tidegate.engine.evidence import this_host, this_process
from tidegate.engine.obeying import Handler
from tidegate.engine.serving import Limits, Means, Work
from tidegate.engine.worker import Worker
from tidegate.lanes import ReadLimits, SendLimits
from tidegate.port import Opener
from tidegate.rules.pacing import Allowance, Caps, Pace, WarmUp
from tidegate.settings import Settings
from tidegate.store.calls import Ledger
from tidegate.store.database import TROUBLE, Address, Database
from tidegate.store.embedded import Seat
from tidegate.store.keys import KeyRing
from tidegate.store.poolers import refuse_transaction_pooler
from tidegate.store.retention import Retention, sweep
from tidegate.store.secrets import AccountVault, open_ring
from tidegate.store.upgrade import prepare
from tidegate.store.whatsapp import WhatsAppSessions
from tidegate.store.workers import Identity
from tidegate.words import Account, AccountId, Platform, Standing

SWEEP_EVERY = timedelta(hours=1)
ROUND_CONNECTIONS = 2

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class House:
    """An open database and the settings it was opened with."""

    settings: Settings
    database: Database


@asynccontextmanager
async def open_house(settings: Settings) -> AsyncIterator[House]:
    """Open the database, embedded or the operator's own, at the schema this code knows."""
    async with open_address(settings) as address:
        await prepare(address, embedded=settings.database_url is None)
        database = await Database.open(address, connections=settings.database_connections)
        try:
            yield House(settings, database)
        finally:
            await database.close()


@asynccontextmanager
async def open_address(settings: Settings) -> AsyncIterator[Address]:
    """Where the database is; starts the embedded one when no other is named, and leaves it at the end."""
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        direct = settings.database_direct_url.get_secret_value() if settings.database_direct_url else url
        yield Address(url=url, direct=direct)
        return
    seat = await asyncio.to_thread(Seat, settings.home)
    try:
        yield seat.address
    finally:
        await asyncio.to_thread(seat.leave)


async def run_worker(
    house: House,
    *,
    openers: Mapping[Platform, Opener],
    work: Work,
    stop: asyncio.Event,
    handlers: Mapping[str, Handler] | None = None,
    only: AccountId | None = None,
) -> None:
    """Serve accounts until *stop* is set, then hand them over; *only* one of them where it is given."""
    settings, database, clock = house.settings, house.database, SystemClock()
    await refuse_transaction_pooler(database.address)
    ring = await key_ring(house)
    ledger = Ledger(database, clock)
    means = Means(
        database=database,
        clock=clock,
        ledger=ledger,
        openers=openers,
        vault=lambda account: AccountVault(database, ring, account),
        limits=lambda account: limits_of(settings, account),
        work=work,
    )
    patience = {platform: settings.silent_takeover_for(platform) for platform in Platform}
    who = _identity(settings, database)
    if only is not None:
        who = replace(who, name=f"{who.name}-for-{only}", seats=0)
    rounds = await Database.open(database.address, connections=ROUND_CONNECTIONS, name=database.name)
    worker = Worker(means, who, database=rounds, patience=patience, handlers=handlers, only=only)
    beside = [asyncio.create_task(lag.watch(clock)), asyncio.create_task(_sweep_hourly(settings, database, clock))]
    try:
        await worker.run(stop)
    finally:
        for task in beside:
            task.cancel()
        await ledger.close()
        await rounds.close()


def whatsapp_sessions(house: House) -> WhatsAppSessions:
    """Where WhatsApp's library keeps the keys of linked devices."""
    return WhatsAppSessions(house.database, lambda: key_ring(house))


async def key_ring(house: House) -> KeyRing:
    """The keys that seal secrets at rest: the operator's own, or those of the data folder."""
    written = house.settings.key.get_secret_value() if house.settings.key else None
    return await open_ring(house.database, house.settings.home, written)


def allowance_of(settings: Settings, platform: Platform, standing: Standing) -> Allowance:
    """What an account may send, by its platform and standing."""
    warms_up = settings.warm_up and platform is Platform.WHATSAPP and standing is Standing.NEW
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


def limits_of(settings: Settings, account: Account) -> Limits:
    """How fast an account may read and send, and what one chat may get where its platform minds."""
    in_a_chat = settings.chat_sends_per_minute(account.platform)
    return Limits(
        reads=ReadLimits(settings.reads_per_second(account.platform), settings.reads_at_once(account.platform)),
        sends=SendLimits(
            allowance=allowance_of(settings, account.platform, account.standing),
            at_once=1 if account.platform is Platform.WHATSAPP else settings.group_concurrency,
            chat=Pace(rate=in_a_chat) if in_a_chat else None,
        ),
    )


def _identity(settings: Settings, database: Database) -> Identity:
    return Identity(
        name=settings.worker_name,
        sessions=database.name,
        host=this_host(),
        process=this_process(),
        version=__version__,
        seats=settings.seats,
        time_out=settings.time_out,
    )


async def _sweep_hourly(settings: Settings, database: Database, clock: Clock) -> None:
    """Remove what has been kept long enough; one worker at a time does it (law 14)."""
    keep = Retention(
        calls=settings.keep_calls_for,
        events=settings.keep_events_for,
        commands=settings.keep_commands_for,
        runs=settings.keep_runs_for,
    )
    while True:
        try:
            removed = {what: count for what, count in (await sweep(database, keep)).items() if count}
        except TROUBLE as problem:
            log.warning("retention.put_off", problem=str(problem))
        else:
            if removed:
                log.info("retention.swept", **removed)
        await clock.sleep(SWEEP_EVERY)
