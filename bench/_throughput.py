"""How many messages a second leave when only the database holds them back, each claimed durably before it goes."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from bench._server import own_database
from tidegate.clock import SystemClock
from tidegate.lanes import Lane, ReadLimits, SendLimits
from tidegate.port import Channel, ChannelId, MessageId, Receipt, SendKey
from tidegate.reminders import controls, saving
from tidegate.reminders.deliver import Habits
from tidegate.reminders.deliveries import Deliveries
from tidegate.reminders.written import checked
from tidegate.rules.pacing import Allowance
from tidegate.store import accounts, channels
from tidegate.store.calls import Ledger
from tidegate.store.database import Database
from tidegate.words import Account, Claim, Platform, Standing

ACCOUNTS, GROUPS, SECONDS = 50, 2_000, 8.0
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
            await accounts.add(connection, name, Platform.TELEGRAM, Standing.ESTABLISHED, loopback=None)
            account = (await accounts.find(connection, name)).account
            await channels.see(connection, Platform.TELEGRAM, account.id, seen)
            await saving.add(connection, checked(document), {})
            await controls.fire(connection, name)
        made.append(account)
    return made


async def _deliver(database: Database, everybody: list[Account]) -> float:
    clock = SystemClock()
    ledger, platform = Ledger(database, clock), Instant()
    deliveries = Deliveries(database, clock, Habits(dice=lambda: 0.5, accounts_at_once=ACCOUNTS))
    lanes = [_lane(database, ledger, account, platform) for account in everybody]
    for lane in lanes:
        await lane.load()
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
    await ledger.close()
    return rate


def _lane(database: Database, ledger: Ledger, account: Account, platform: Instant) -> Lane:
    return Lane(
        account,
        platform,
        claim=lambda: Claim(account.id, 0, float("inf")),
        database=database,
        ledger=ledger,
        clock=SystemClock(),
        reads=ReadLimits(per_second=None, at_once=10),
        sends=UNBOUND,
    )


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
