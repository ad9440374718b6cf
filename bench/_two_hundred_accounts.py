"""Two hundred accounts of two platforms in one process, each at its own pace, in real time."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from bench._database_server import own_database
from bench._loopback_accounts import Town, add_everybody, town
from tidegate.app.composition import Runtime, run_worker
from tidegate.app.settings import Settings
from tidegate.app.worker_setup import worker_setup
from tidegate.core.account import Account
from tidegate.core.clock import SystemClock
from tidegate.database.pool import Database
from tidegate.reminders import reminder_changes
from tidegate.reminders.reminder_parser import parse_reminder
from tidegate.reminders.runs import run_controls
from tidegate.workers.command_client import ask_owner

PEOPLE, GROUPS, PACE = 100, 100, 40
MEASURED = timedelta(seconds=60)


async def many_accounts() -> dict[str, Any]:
    """100 accounts on each platform, with a text for 100 groups; what arrives in a minute, by the platforms' record."""
    home = Path(tempfile.mkdtemp(prefix="tg-bench-"))
    try:
        async with own_database(connections=40) as database, town(people=PEOPLE, groups=GROUPS) as place:
            everybody = await add_everybody(database, home, place, people=PEOPLE)
            return await _measure(database, home, place, everybody)
    finally:
        shutil.rmtree(home)


async def _measure(database: Database, home: Path, place: Town, everybody: list[Account]) -> dict[str, Any]:
    clock, stop = SystemClock(), asyncio.Event()
    settings = Settings(
        home=home,
        database_url=SecretStr(database.address.direct),
        fire_concurrency=len(everybody),
        discord_live=False,
        max_send_per_minute=PACE,
    )
    runtime = Runtime(settings, database)
    trade = await worker_setup(runtime, every=timedelta(hours=12))
    before = _resident()
    working = asyncio.create_task(
        run_worker(runtime, openers=trade.openers, work=trade.work, stop=stop, handlers=trade.handlers)
    )
    for account in everybody:
        await ask_owner(database, account.id, "sync", {}, within=timedelta(minutes=2))
    await _fire(database, everybody)
    while len(_by_account(await place.ask("/sends"))) < len(everybody):
        await clock.sleep(timedelta(seconds=1))
    begun = clock.now()
    await clock.sleep(MEASURED)
    sends = await place.ask("/sends")
    after = _resident()
    stop.set()
    await working
    times = [datetime.fromisoformat(sent["at"]) for sent in sends]
    within = [sent for sent, at in zip(sends, times, strict=True) if begun <= at < begun + MEASURED]
    fair = PACE * MEASURED / timedelta(minutes=1)
    slowest = min(_by_account(within).values())
    return {
        "accounts": len(everybody),
        "groups": GROUPS,
        "parts": 1,
        "pace_per_minute": PACE,
        "share_of_limit": round(len(within) / fair / len(everybody), 4),
        "slowest_account_share": round(slowest / fair, 4),
        "memory_per_account_mb": round((after - before) / len(everybody) / 1e6, 2),
    }


async def _fire(database: Database, everybody: list[Account]) -> None:
    hours = {"delivery_window_start_hour": 0, "delivery_window_end_hour": 24}
    async with database.transaction() as connection:  # all at once: nobody is done while others have not begun
        for account in everybody:
            document = {"name": account.name, "account": account.name, "all": True, "parts": [{"text": "Hi"}], **hours}
            kept = await reminder_changes.add(connection, parse_reminder(document), {})
            await run_controls.fire(connection, kept)


def _by_account(sends: list[dict[str, Any]]) -> Counter[str]:
    return Counter(f"{sent['platform']} {sent['account']}" for sent in sends)


def _resident() -> int:
    """The memory of this process that is in use, in bytes."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096
