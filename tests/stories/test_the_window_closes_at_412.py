"""The window closes on a thousand groups when 412 of them are reached: the rest is left out, or sent the next day."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.held import holding
from tests.platforms.drawer import Drawer
from tests.platforms.telegram.people import PHONE, finding, signed_in_before
from tidegate.core.account import Standing
from tidegate.core.clock import HeldClock
from tidegate.core.ids import RunId
from tidegate.database.pool import Database
from tidegate.lanes import Lane, SendLimits
from tidegate.lanes.queries.calls import CallLog
from tidegate.lanes.rules.pace_bucket import Pace
from tidegate.lanes.rules.slowdown_after_warning import Allowance
from tidegate.loopback.owned_account import add_account, open_lane
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram import World as TelegramWorld
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.telegram.connector import telegram_opener
from tidegate.reminders import reminder_changes
from tidegate.reminders.queries import runs
from tidegate.reminders.queries.runs import Run
from tidegate.reminders.reminder_parser import parse_reminder
from tidegate.reminders.rules.run_summary import WINDOW_CLOSED, RunState, RunStatus
from tidegate.reminders.runs import run_controls
from tidegate.reminders.runs.run_scheduler import RunScheduler
from tidegate.reminders.runs.run_worker import RunPolicy
from tidegate.scans.channel_catalogue import sync_channels

GROUPS, REACHED, RATE = 1_000, 412, 40
CLOSES = datetime(2026, 11, 16, 10, tzinfo=UTC)  # six in the evening in Kuala Lumpur
FIRED = CLOSES - (REACHED - 0.5) * Pace(RATE).interval  # the first goes out at once, the 412th half an interval early
SENTENCE = (
    "Delivery window closed at 18:00 (Asia/Kuala_Lumpur). 412 of 1000 groups delivered. This account is at capacity "
    "for this fan-out — consider sending the remainder from another paired account."
)


@dataclass
class Evening:
    """A shop in Kuala Lumpur whose reminder is fired too late to reach everybody."""

    database: Database
    clock: HeldClock
    platform: TelegramWorld
    lane: Lane
    deliveries: RunScheduler

    async def fire(self, **policies: str) -> RunId:
        written: dict[str, Any] = {
            "name": "stock",
            "account": "shop",
            "all": True,
            "timezone": "Asia/Kuala_Lumpur",
            "parts": [{"text": "Good evening {group}"}],
        }
        async with self.database.transaction() as connection:
            kept = await reminder_changes.add(connection, parse_reminder({**written, **policies}), {})
            number = await run_controls.fire(connection, kept)
        self.deliveries.look(self.lane.account.id)
        return number

    async def run(self, number: RunId) -> Run:
        async with self.database.connection() as connection:
            return await runs.find(connection, number)

    def reached(self) -> list[int]:
        """The groups that got something, in order, by the platform's own record."""
        return [sent.target for sent in self.platform.record.sends]

    async def parts(self) -> dict[tuple[str, str], int]:
        rows = await self.database.pool.fetch("SELECT state, error, count(*) FROM run_parts GROUP BY 1, 2")
        return {(row["state"], row["error"]): row["count"] for row in rows}


@pytest.fixture
async def evening(database: Database) -> AsyncIterator[Evening]:
    async with holding(database, FIRED - timedelta(minutes=5)) as clock:
        platform = TelegramWorld(clock, seed=5)
        platform.add_account(PHONE, "Ada")
        for number in range(GROUPS):
            platform.add_channel(f"Group {number:04}").pushes = False
        server = TelegramServer(platform, clock)
        await server.start()
        call_log, lane = CallLog(database, clock), await _lane(database, clock, server)
        clock.busy_when(lambda: server.busy or lane.gate.in_flight > 0)
        await _after(clock, sync_channels(lane, database))
        deliveries = RunScheduler(database, clock, RunPolicy(dice=lambda: 0.5))
        working = asyncio.create_task(deliveries.work(lane))
        await clock.advance(FIRED - clock.now())
        yield Evening(database, clock, platform, lane, deliveries)
        working.cancel()
        await asyncio.wait([working])
        await lane.close()
        await call_log.close()
        await server.close()


async def _lane(database: Database, clock: HeldClock, server: TelegramServer) -> Lane:
    account, drawer = await add_account(database, "shop", TELEGRAM, Standing.ESTABLISHED), Drawer()
    signed_in_before(server.world, drawer)
    client = await telegram_opener(None, clock, find_loopback=finding(server))(account, drawer, lambda _: None)
    sends = SendLimits(Allowance(ceiling=RATE), at_once=3)
    return await open_lane(account, client, CallLog(database, clock), database, clock=clock, sends=sends)


async def _after(clock: HeldClock, work: Any) -> None:
    task = asyncio.ensure_future(work)
    while not task.done():
        await clock.advance(timedelta(seconds=1))
    await task


@pytest.mark.story
async def test_the_rest_is_skipped_with_the_seeds_sentence(evening: Evening) -> None:
    """The seed's acceptance: exactly 588 are left out, each with the reason, and the summary says what to do."""
    number = await evening.fire()
    await evening.clock.advance(timedelta(minutes=15))
    assert len(evening.reached()) == len(set(evening.reached())) == REACHED
    assert await evening.parts() == {("sent", ""): REACHED, ("skipped", WINDOW_CLOSED): GROUPS - REACHED}
    run = await evening.run(number)
    assert (run.state, run.status, run.error_summary) == (RunState.ENDED, RunStatus.PARTIAL, SENTENCE)
    [told] = await evening.database.pool.fetch("SELECT data FROM events WHERE kind = 'reminder.fired'")
    assert (told["data"]["status"], told["data"]["body"]) == ("partial", "412 of 1000 delivered")


@pytest.mark.story
async def test_or_it_is_sent_the_next_day(evening: Evening) -> None:
    """D-11: with that policy the run waits overnight, and in the morning exactly those who are left get it."""
    number = await evening.fire(when_window_closes="resume_next")
    await evening.clock.advance(timedelta(minutes=15))
    assert (await evening.run(number)).state is RunState.WAITING
    assert len(evening.reached()) == REACHED
    await evening.clock.advance(CLOSES + timedelta(hours=11, minutes=59, seconds=59) - evening.clock.now())
    assert len(evening.reached()) == REACHED
    await evening.clock.advance(timedelta(minutes=20))
    run = await evening.run(number)
    assert (run.state, run.status, run.error_summary) == (RunState.ENDED, RunStatus.SUCCESS, "")
    assert len(evening.reached()) == len(set(evening.reached())) == GROUPS
