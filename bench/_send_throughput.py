"""How many messages a second leave when only the database holds them back, each claimed durably before it goes."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from bench._database_server import own_database
from tidegate.accounts.queries import accounts
from tidegate.channels.queries import channels
from tidegate.core.account import Account, Standing
from tidegate.core.clock import SystemClock
from tidegate.core.ids import ChannelId, MessageId
from tidegate.database.pool import Database
from tidegate.lanes import ReadLimits, SendLimits
from tidegate.lanes.queries.calls import CallLog
from tidegate.lanes.rules.slowdown_after_warning import Allowance
from tidegate.loopback.owned_account import open_lane
from tidegate.platforms.interface import Channel, Receipt, SendKey
from tidegate.platforms.telegram import TELEGRAM
from tidegate.reminders import reminder_changes
from tidegate.reminders.reminder_parser import parse_reminder
from tidegate.reminders.runs import run_controls
from tidegate.reminders.runs.run_scheduler import RunScheduler
from tidegate.reminders.runs.run_worker import RunPolicy

ACCOUNTS, GROUPS, SECONDS = 50, 2_000, 8.0
READS = ReadLimits(per_second=None, at_once=10)
UNBOUND = SendLimits(Allowance(ceiling=60_000_000), at_once=3)


class Instant:
    """A platform that accepts at once, and recognises what it has accepted."""

    recognises_for = None

    def __init__(self) -> None:
        self.accepted = 0

    async def send(self, channel: ChannelId, text: str, *, key: SendKey) -> Receipt:
        self.accepted += 1
        return Receipt(MessageId(self.accepted), None)

    async def close(self) -> None: ...


async def most_sends() -> dict[str, Any]:
    """Runs of 50 accounts with 2,000 groups each, for some seconds; then bare commits on as many connections."""
    async with own_database(connections=ACCOUNTS) as database:
        everybody = await _shops(database)
        sends = await _deliver(database, everybody)
        commits = await _commit(database)
    return {
        "sends_per_second": round(sends),
        "raw_commits_per_second": round(commits),
        "ratio": round(sends / commits, 2),
        "accounts": ACCOUNTS,
    }


async def _shops(database: Database) -> list[Account]:
    made = []
    seen = [Channel(ChannelId(number), f"Group {number}", may_post=True) for number in range(1, GROUPS + 1)]
    for number in range(ACCOUNTS):
        name = f"shop {number}"
        hours = {"delivery_window_start_hour": 0, "delivery_window_end_hour": 24}
        document = {"name": name, "account": name, "all": True, "parts": [{"text": "Good morning {group}"}], **hours}
        async with database.transaction() as connection:
            await accounts.add(connection, name, TELEGRAM, Standing.ESTABLISHED, loopback=None)
            account = (await accounts.find(connection, name)).account
            await channels.see(connection, TELEGRAM, account.id, seen)
            kept = await reminder_changes.add(connection, parse_reminder(document), {})
            await run_controls.fire(connection, kept)
        made.append(account)
    return made


async def _deliver(database: Database, everybody: list[Account]) -> float:
    clock = SystemClock()
    call_log, platform = CallLog(database, clock), Instant()
    deliveries = RunScheduler(database, clock, RunPolicy(dice=lambda: 0.5, accounts_at_once=ACCOUNTS))
    lanes = [
        await open_lane(account, platform, call_log, database, reads=READS, sends=UNBOUND) for account in everybody
    ]
    working = [asyncio.create_task(deliveries.work(lane)) for lane in lanes]
    while platform.accepted < 20 * ACCOUNTS:  # every statement prepared, every run under way
        await clock.sleep(timedelta(milliseconds=100))
    before, begun = platform.accepted, clock.ticks()
    await clock.sleep(timedelta(seconds=SECONDS))
    rate = (platform.accepted - before) / (clock.ticks() - begun)
    for task in working:
        task.cancel()
    await asyncio.wait(working)
    for lane in lanes:
        await lane.close()
    await call_log.close()
    return rate


async def _commit(database: Database) -> float:
    clock = SystemClock()
    await database.pool.execute("CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n bigint)")
    begun = clock.ticks()

    async def work(number: int) -> int:
        done = 0
        async with database.connection() as connection:
            while clock.ticks() - begun < SECONDS:
                await connection.fetchrow("INSERT INTO bare (n) VALUES ($1) RETURNING id", number)
                done += 1
        return done

    return sum(await asyncio.gather(*(work(number) for number in range(ACCOUNTS)))) / (clock.ticks() - begun)
