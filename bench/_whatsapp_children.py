"""WhatsApp accounts, each behind a child process of its own: whether they keep their pace, and what a child weighs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

from bench._database_server import own_database
from tidegate.app.account_setup import SignedIn
from tidegate.core.account import Standing
from tidegate.core.clock import SystemClock
from tidegate.database.pool import Database
from tidegate.lanes import Lane, ReadLimits, SendLimits
from tidegate.lanes.queries.calls import CallLog
from tidegate.lanes.rules.slowdown_after_warning import Allowance
from tidegate.loopback.owned_account import add_account, open_lane
from tidegate.loopback.whatsapp import WhatsAppServer, World
from tidegate.platforms.whatsapp import WHATSAPP
from tidegate.platforms.whatsapp.connector import DEVICE, whatsapp_opener
from tidegate.reminders import reminder_changes
from tidegate.reminders.reminder_parser import parse_reminder
from tidegate.reminders.runs import run_controls
from tidegate.reminders.runs.run_scheduler import RunScheduler
from tidegate.reminders.runs.run_worker import RunPolicy
from tidegate.scans.channel_catalogue import sync_channels

PACE, GROUPS = 40, 60
MEASURED = timedelta(seconds=45)


class NoSessions:
    """A loopback account keeps no keys."""

    async def address(self) -> NoReturn:
        raise AssertionError("a loopback account asked for a session store")

    async def holds(self, device: str) -> NoReturn:
        raise AssertionError("a loopback account asked for its keys")

    async def names_under(self, secret: bytes) -> NoReturn:
        raise AssertionError("a loopback account asked for its messages")


async def whatsapp_children(count: int) -> dict[str, Any]:
    """So many established accounts with a text for 60 groups, in real time; memory by the kernel's word."""
    clock = SystemClock()
    world = World(clock, seed=7)
    for number in range(count):  # before the groups, which take in everybody there is
        world.add_phone(_phone(number))
    for number in range(GROUPS):
        world.add_group(f"Group {number:02}")
    server = WhatsAppServer(world, clock)
    await server.start()
    try:
        async with own_database(connections=20) as database:
            sends, memory = await _deliver(database, server, count)
    finally:
        await server.close()
    fair = count * PACE * MEASURED / timedelta(minutes=1)
    return {
        "platform": "whatsapp",
        "accounts": count,
        "groups": GROUPS,
        "parts": 1,
        "pace_per_minute": PACE,
        "share_of_limit": round(sends / fair, 4),
        "memory_per_child_mb": round(memory / count / 1e6, 1),
    }


async def _deliver(database: Database, server: WhatsAppServer, count: int) -> tuple[int, int]:
    """How many messages arrived in the time measured, and the memory of all children."""
    clock = SystemClock()
    deliveries = RunScheduler(database, clock, RunPolicy(dice=lambda: 0.5, accounts_at_once=count))
    async with _lanes(database, server, count) as lanes:
        for lane in lanes:
            await sync_channels(lane, database)
            await _fire(database, lane.account.name)
        working = [asyncio.create_task(deliveries.work(lane)) for lane in lanes]
        while len(server.world.record.sends) < count:  # every run is under way
            await clock.sleep(timedelta(milliseconds=100))
        before = len(server.world.record.sends)
        await clock.sleep(MEASURED)
        sends, memory = len(server.world.record.sends) - before, _of_children()
        for task in working:
            task.cancel()
        await asyncio.wait(working)
    return sends, memory


@asynccontextmanager
async def _lanes(database: Database, server: WhatsAppServer, count: int) -> AsyncIterator[list[Lane]]:
    clock = SystemClock()
    call_log, lanes = CallLog(database, clock), list[Lane]()
    try:
        for number in range(count):
            lanes.append(await _lane(database, server, call_log, number))
        yield lanes
    finally:
        for lane in lanes:
            await lane.close()
        await call_log.close()


async def _lane(database: Database, server: WhatsAppServer, call_log: CallLog, number: int) -> Lane:
    clock, name = SystemClock(), f"shop {number}"
    account = await add_account(database, name, WHATSAPP, Standing.ESTABLISHED)
    drawer = SignedIn({DEVICE: server.world.link(server.world.phone(_phone(number))).encode()})

    async def find(_: str) -> str:
        return server.address

    client = await whatsapp_opener(clock, NoSessions(), find_loopback=find)(account, drawer, lambda _: None)
    reads, sends = ReadLimits(per_second=100, at_once=5), SendLimits(Allowance(ceiling=PACE), at_once=1)
    return await open_lane(account, client, call_log, database, reads=reads, sends=sends)


def _phone(number: int) -> str:
    return f"62812{number:08}"


async def _fire(database: Database, name: str) -> None:
    hours = {"delivery_window_start_hour": 0, "delivery_window_end_hour": 24}
    document = {"name": name, "account": name, "all": True, "parts": [{"text": "Good morning"}], **hours}
    async with database.transaction() as connection:
        kept = await reminder_changes.add(connection, parse_reminder(document), {})
        await run_controls.fire(connection, kept)


def _of_children() -> int:
    """The memory in use of this process's WhatsApp children, in bytes."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command, status = (folder / "cmdline").read_bytes(), (folder / "stat").read_text()
            pages = int((folder / "statm").read_text().split()[1])
        except OSError:  # it has ended meanwhile
            continue
        if b"whatsapp" in command and status.rpartition(")")[2].split()[1] == str(os.getpid()):
            total += pages * 4096
    return total
