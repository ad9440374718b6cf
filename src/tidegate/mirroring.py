"""The mirror as a worker does it, and as a command asks for it when no worker is there."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tidegate.app import House, run_worker
from tidegate.clock import SystemClock
from tidegate.engine.asking import ask_owner
from tidegate.engine.obeying import Handler
from tidegate.engine.serving import Serving, Work
from tidegate.errors import BadInput, TidegateError
from tidegate.habits import filing_habits, habits_of
from tidegate.history_commands import history_handlers
from tidegate.lanes import Lane
from tidegate.mirror.filer import Filer
from tidegate.mirror.guild_rounds import GuildRounds
from tidegate.mirror.guilds import sync_guilds
from tidegate.mirror.listing import sync_channels
from tidegate.mirror.rounds import Rounds
from tidegate.mirror.scan import Hand
from tidegate.mirror.turns import Timetable
from tidegate.openings import discord_opening, telegram_opening, whatsapp_opening
from tidegate.port import Opener
from tidegate.reminders.deliver import Habits
from tidegate.reminders.deliveries import Deliveries
from tidegate.reminders.waking import LOOK
from tidegate.settings import Settings
from tidegate.side_by_side import together
from tidegate.store import accounts, channels, places, workers
from tidegate.store.commands import Answer
from tidegate.store.database import Database
from tidegate.words import Account, AccountId, AccountState, Platform, RunId

OF_HISTORIES = ("cycle", "backfill", "reconcile")
"""What cannot be asked of an account on WhatsApp, whose groups are sent to and not mirrored."""

SIGNED_OUT_WITHIN = timedelta(seconds=15)
"""How long the removal of an account waits for its platform; a person waits for it, and it happens anyway."""

ANSWERED_WITHIN = timedelta(hours=12)
"""How long a command waits for its cycle: a flood wait can be long, and Ctrl-C ends the waiting."""


@dataclass(frozen=True, slots=True)
class Trade:
    """What a worker can do: connect accounts, work for them, and obey commands."""

    openers: Mapping[Platform, Opener]
    work: Work
    handlers: Mapping[str, Handler]


async def trade_of(house: House, *, others: Trade | None = None, every: timedelta | None) -> Trade:
    """Mirror accounts: a cycle at the start and then as often as each platform wants it (*every* None: on command).

    Accounts on WhatsApp are served as *others* say where they are given, as the demo's are.
    """
    clock = SystemClock()
    habits = habits_of(house.settings)
    filer = Filer(house.database, clock, filing_habits(house.settings, habits), beside_cycles=every is not None)
    times = Timetable(every, every_live=house.settings.cycle_every_live, dice=random.random)
    rounds = Rounds(house.database, clock, habits, times, filer.after_cycle)
    guild_rounds = GuildRounds(house.database, clock, habits, guild_times(house.settings, by_itself=every is not None))
    deliveries = Deliveries(
        house.database,
        clock,
        delivery_habits(house.settings),
        refresh={Platform.WHATSAPP: lambda lane: sync_channels(lane, house.database)},
        by_itself=every is not None,
    )
    await rounds.begin()
    await guild_rounds.begin()

    def rounds_of(serving: Serving) -> Rounds | GuildRounds:
        return guild_rounds if serving.account.platform is Platform.DISCORD else rounds

    async def work(lane: Lane) -> None:
        if lane.account.platform is Platform.TELEGRAM:
            await together(rounds.work(lane), filer.work(lane), deliveries.work(lane))
        elif lane.account.platform is Platform.DISCORD:
            await together(guild_rounds.work(lane), deliveries.work(lane))
        else:
            await (others or deliveries).work(lane)

    async def look(serving: Serving, _: dict[str, Any]) -> None:
        deliveries.look(serving.account.id)

    async def deliver(serving: Serving, args: dict[str, Any]) -> dict[str, Any]:
        run = await deliveries.deliver(serving.account.id, RunId(args["run"]))
        return {"state": run.state.value}

    async def cycle(serving: Serving, args: dict[str, Any]) -> dict[str, Any]:
        channel = await _ask_by_hand(house.database, args["channel"]) if args.get("channel") else None
        return (await rounds_of(serving).desk(serving.account.id).ask(channel)).as_json()

    async def sync(serving: Serving, _: dict[str, Any]) -> dict[str, Any]:
        lane = await serving.connected()
        if lane.has_guilds:
            return {"channels": await sync_guilds(Hand(lane, house.database, None, habits.limits, habits.retries))}
        return {"channels": await sync_channels(lane, house.database)}

    async def sign_out(serving: Serving, _: dict[str, Any]) -> None:
        lane = await serving.connected()
        await lane.sign_out()
        await lane.write_ledger()

    openers = {
        Platform.TELEGRAM: telegram_opening(house.settings, clock),
        Platform.DISCORD: discord_opening(house.settings, clock),
        Platform.WHATSAPP: others.openers[Platform.WHATSAPP] if others else whatsapp_opening(house, clock),
    }
    about_histories = history_handlers(house.database, habits)
    about_runs = {LOOK: look, "deliver": deliver}
    return Trade(openers, work, {"cycle": cycle, "sync": sync, "sign_out": sign_out, **about_histories, **about_runs})


def delivery_habits(settings: Settings) -> Habits:
    """How many accounts and groups are sent to at once."""
    return Habits(random.random, settings.fire_concurrency, settings.group_concurrency)


def guild_times(settings: Settings, *, by_itself: bool) -> Timetable:
    """How often a Discord account's guilds are gone over, when that happens *by_itself*."""
    every = settings.discord_cycle_every if by_itself else None
    return Timetable(every, every_live=settings.discord_cycle_every_live, dice=random.random)


async def _ask_by_hand(database: Database, named: str) -> Any:
    async with database.transaction() as connection:
        kept = await channels.find(connection, named)
        await places.ask(connection, kept.key)
    return kept.number


# Asking from the command line


async def ask_account(house: House, account: Account, kind: str, args: dict[str, Any]) -> Any:
    """Have an account's owner do something and return what came of it.

    When nobody serves the account, this process takes it for the duration, as a worker would. A person who has to
    act first is told so.
    """
    require_active(account, kind)
    asking = asyncio.create_task(ask_owner(house.database, account.id, kind, args, within=ANSWERED_WITHIN))
    watching = asyncio.create_task(_until_unable(house.database, account.name))
    stop = asyncio.Event()
    serving = asyncio.create_task(_serve_if_nobody_does(house, account.id, stop))
    try:
        await asyncio.wait({asking, watching, serving}, return_when=asyncio.FIRST_COMPLETED)
        for task in (watching, serving):
            if task.done() and not asking.done():
                task.result()
        return _result(await asking)
    finally:
        stop.set()
        asking.cancel()
        watching.cancel()
        await asyncio.wait({asking, watching, serving})


async def sign_out(house: House, account: Account, *, within: timedelta = SIGNED_OUT_WITHIN) -> str | None:
    """End an account's sign-in at its platform; a sentence says why that could not be done in time."""
    try:
        async with asyncio.timeout(within.total_seconds()):
            await ask_account(house, account, "sign_out", {})
    except TimeoutError:
        return f"{account.platform.brand} did not answer within {within.total_seconds():.0f} s."
    except TidegateError as problem:
        return str(problem)
    return None


async def _serve_if_nobody_does(house: House, account: AccountId, stop: asyncio.Event) -> None:
    async with house.database.connection() as connection:
        served = await workers.serves(connection, account)
    if served:
        await stop.wait()
        return
    trade = await trade_of(house, every=None)
    await run_worker(house, openers=trade.openers, work=trade.work, stop=stop, handlers=trade.handlers, only=account)


async def _until_unable(database: Database, name: str) -> None:
    """Raise when the account can no longer work, since nobody would answer then."""
    while True:
        await SystemClock().sleep(timedelta(seconds=1))
        async with database.connection() as connection:
            require_active((await accounts.find(connection, name)).account)


def require_active(account: Account, kind: str | None = None) -> None:
    """Refuse to ask an account that nobody would answer for, or for what its platform has not."""
    if kind in OF_HISTORIES and account.platform is Platform.WHATSAPP:
        raise BadInput(f'Account "{account.name}" is on WhatsApp, whose groups are sent to and not mirrored.')
    if account.state is not AccountState.ACTIVE:
        raise TidegateError(account.stands)


def _result(answer: Answer | None) -> Any:
    if answer is None:
        raise TidegateError("The worker that serves the account did not answer; the command stays and is done later.")
    if answer.error is not None:
        raise TidegateError(answer.error)
    return answer.result
