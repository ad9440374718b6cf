"""Reminders delivered in the test's own process: a real database, lanes with their pace, and one held clock for all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import asyncpg
import pytest

from tests.held import holding
from tests.reminders.groups_platform import GroupsPlatform, Killed, Recognising
from tidegate.accounts.queries import accounts
from tidegate.channels.queries import channels
from tidegate.core.account import Account, Standing
from tidegate.core.clock import HeldClock
from tidegate.core.errors import TidegateError
from tidegate.core.ids import ChannelId, RunId
from tidegate.core.platform import Platform
from tidegate.database.pool import Database
from tidegate.lanes import Lane, ReadLimits, SendLimits
from tidegate.lanes.queries.calls import CallLog
from tidegate.lanes.rules.slowdown_after_warning import Allowance
from tidegate.loopback.owned_account import open_lane
from tidegate.platforms.interface import Channel
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.whatsapp import WHATSAPP
from tidegate.reminders import reminder_changes
from tidegate.reminders.queries import reminders, run_targets, runs
from tidegate.reminders.queries.runs import Run
from tidegate.reminders.reminder_files import as_read
from tidegate.reminders.reminder_parser import parse_reminder
from tidegate.reminders.runs import run_controls
from tidegate.reminders.runs.run_scheduler import RunScheduler
from tidegate.reminders.runs.run_worker import RunPolicy

P = TypeVar("P", bound=GroupsPlatform)

MORNING = datetime(2026, 3, 2, 9, tzinfo=UTC)
ENDLESS = ReadLimits(per_second=None, at_once=10)


@dataclass
class Shop:
    """One account: its platform, and the worker that serves it at the moment."""

    account: Account
    platform: GroupsPlatform
    rate: int
    epoch: int = 0
    lane: Lane | None = None
    task: asyncio.Task[None] | None = None
    deliveries: RunScheduler | None = None


@dataclass
class Scene:
    """A town of shops. ``fire`` opens runs, ``serve`` starts a worker for a shop, ``pass_time`` lets it work."""

    database: Database
    clock: HeldClock
    call_log: CallLog
    shops: list[Shop] = field(default_factory=list)
    policy: RunPolicy = field(default_factory=lambda: RunPolicy(dice=lambda: 0.5))

    async def shop(
        self, platform: GroupsPlatform, *, name: str = "shop", rate: int = 40, on: Platform = TELEGRAM
    ) -> Shop:
        async with self.database.transaction() as connection:
            await accounts.add(connection, name, on, Standing.ESTABLISHED, loopback="http://127.0.0.1:1")
            account = (await accounts.find(connection, name)).account
        made = Shop(account, platform, rate)
        self.shops.append(made)
        return made

    async def groups(self, shop: Shop, count: int, *, barred: tuple[int, ...] = ()) -> None:
        """Groups 1 to *count*, in which the account may post but for those *barred*."""
        seen = [
            Channel(ChannelId(number), f"Group {number}", may_post=number not in barred)
            for number in range(1, count + 1)
        ]
        async with self.database.transaction() as connection:
            await channels.see(connection, shop.account.platform, shop.account.id, seen)

    async def reminder(self, files: Mapping[str, bytes] | None = None, **written: Any) -> str:
        """Save a reminder to all groups of "shop" with one text, but for what is *written*; its name."""
        document: dict[str, Any] = {"name": "Friday stock", "account": "shop", "parts": [{"text": "Hello {group}"}]}
        if not {"targets", "list"} & set(written):
            document["all"] = True
        reminder = parse_reminder({**document, **written})
        read = {name: as_read(name, content) for name, content in (files or {}).items()}
        async with self.database.transaction() as connection:
            await reminder_changes.add(connection, reminder, read)
        return reminder.name

    async def fire(self, name: str = "Friday stock", **otherwise: Any) -> RunId:
        async with self.database.transaction() as connection:
            kept = await reminders.find(connection, name, lock=True)
            number = await run_controls.fire(connection, kept, **otherwise)
        self.look()
        return number

    def look(self) -> None:
        """What the command does that a change leaves for the owner."""
        for shop in self.shops:
            if shop.deliveries is not None:
                shop.deliveries.look(shop.account.id)

    async def do(self, control: Any, *arguments: Any, **named: Any) -> Any:
        """Do to a run what a person does, and tell its owner."""
        async with self.database.transaction() as connection:
            done = await control(connection, *arguments, **named)
        self.look()
        return done

    # Workers

    async def serve(self, shop: Shop, *, by: RunScheduler | None = None, **limits: Any) -> None:
        """A worker takes the account, in a new epoch; a second call is a takeover. *by* one that has others too."""
        shop.epoch = await self.database.pool.fetchval(
            "UPDATE accounts SET epoch = epoch + 1 WHERE id = $1 RETURNING epoch", shop.account.id
        )
        epoch = shop.epoch
        at_once = 1 if shop.account.platform is WHATSAPP else self.policy.groups_at_once
        shop.lane = await open_lane(
            shop.account,
            shop.platform,
            self.call_log,
            self.database,
            clock=self.clock,
            epoch=lambda: epoch,
            reads=ENDLESS,
            sends=SendLimits(Allowance(ceiling=shop.rate, **limits), at_once=at_once),
        )
        shop.deliveries = by or RunScheduler(self.database, self.clock, self.policy)
        shop.task = asyncio.create_task(shop.deliveries.work(shop.lane))

    async def leave(self, shop: Shop) -> None:
        """The worker lets the account go in order."""
        assert shop.lane is not None
        assert shop.task is not None
        shop.task.cancel()
        with suppress(asyncio.CancelledError, TidegateError, Killed):
            await shop.task
        await shop.lane.close()
        shop.lane = shop.task = None

    async def pass_time(self, **span: float) -> None:
        """Let time pass, in steps that are short where much happens: a worker between two statements looks idle."""
        left = timedelta(**span)
        step = timedelta(seconds=5) if left <= timedelta(minutes=15) else timedelta(minutes=1)
        while left > timedelta():
            await self.clock.advance(min(step, left))
            left -= step
            for _ in range(20):
                await asyncio.sleep(0)

    def listen(self, asked: list[str]) -> None:
        """Take down every query from now on."""
        heard = set[asyncpg.Connection]()

        async def hear(connection: asyncpg.Connection) -> None:
            if connection._con not in heard:
                heard.add(connection._con)
                connection.add_query_logger(lambda query: asked.append(query.query.strip()))

        for holder in self.database.pool._holders:
            holder._setup = hear

    # What came of it

    async def run(self, number: RunId) -> Run:
        async with self.database.connection() as connection:
            return await runs.find(connection, number)

    async def counts(self, number: RunId) -> dict[str, int]:
        """Targets by state, those of which there are any."""
        async with self.database.connection() as connection:
            found = (await runs.counts(connection, [number]))[number]
        return {state.value: count for state, count in found.items() if count}

    async def parts(self, number: RunId, target: int) -> list[str]:
        async with self.database.connection() as connection:
            shown = await run_targets.of_run(connection, number)
        return [part.state.value for part in shown[target - 1].parts]

    async def errors(self, number: RunId) -> dict[str, str]:
        async with self.database.connection() as connection:
            return {one.title: one.error for one in await run_targets.of_run(connection, number) if one.error}

    async def rows(self, query: str, *values: Any) -> list[asyncpg.Record]:
        return await self.database.pool.fetch(query, *values)

    async def events(self, kind: str) -> list[dict[str, Any]]:
        return [row["data"] for row in await self.rows("SELECT data FROM events WHERE kind = $1 ORDER BY id", kind)]


@pytest.fixture
async def scene(database: Database) -> AsyncIterator[Scene]:
    """It is nine in the morning, UTC."""
    async with holding(database, MORNING) as clock:
        made = Scene(database, clock, CallLog(database, clock))
        yield made
        for shop in made.shops:
            if shop.task is not None:
                await made.leave(shop)
        await made.call_log.close()


@pytest.fixture
async def shop(scene: Scene) -> Shop:
    """An account on a platform that removes duplicates for ever, as Telegram does."""
    return await scene.shop(Recognising(scene.clock))


@pytest.fixture
async def forgetful(scene: Scene) -> Shop:
    """An account on a platform that does not, as WhatsApp; one send at a time."""
    return await scene.shop(GroupsPlatform(scene.clock), on=WHATSAPP)
