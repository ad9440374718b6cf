"""Worker processes on the counting platform, which tests kill, freeze and end.

They are forked from a parent that has everything imported already, so that a hundred of them take seconds. Demo, tests
and benchmarks start them here; what they run is what ``tidegate worker`` runs.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

from pydantic import SecretStr

from tidegate.app import logs
from tidegate.app.composition import Runtime, open_runtime, run_worker
from tidegate.app.setting_types import LogLevel
from tidegate.app.settings import Settings
from tidegate.app.worker_setup import WorkerSetup, worker_setup
from tidegate.core import child_process
from tidegate.core.account import Account
from tidegate.core.clock import SystemClock
from tidegate.core.ids import ChannelId
from tidegate.core.platform import registered_platforms
from tidegate.lanes import Lane
from tidegate.loopback.counting_client import counting_opener
from tidegate.platforms.interface import NoteConnect, SendKey, Vault

multiprocessing.set_forkserver_preload(["tidegate.loopback.fleet"])

Task = Callable[[Runtime, Lane], Awaitable[None]]

QUICK: Mapping[str, Any] = {
    "time_out": timedelta(seconds=6),
    "telegram_reads_per_second": 100,
    "whatsapp_reads_per_second": 25,
}
"""Settings of all these workers: fast, since no real platform is called."""


@dataclass(frozen=True, slots=True)
class Orders:
    """The configuration of a worker of the fleet: its database, its platform, and its task for each account.

    With *cycle_every* it works as ``tidegate worker`` does. Only WhatsApp accounts get its task, where there is a
    counting platform. Without either it owns accounts and never connects them. *settings* are those that differ
    from the operator's usual ones.
    """

    database: str
    platform: str
    home: Path
    name: str
    task: Task
    cycle_every: timedelta | None
    settings: Mapping[str, Any]


async def keep_looking(runtime: Runtime, lane: Lane) -> None:
    """Read a channel repeatedly, so that the platform's record shows which process serves the account."""
    while True:
        await lane.heads([ChannelId(1)])
        await SystemClock().sleep(timedelta(milliseconds=400))


async def keep_sending(runtime: Runtime, lane: Lane) -> None:
    """Send as fast as the pace allows."""
    while True:
        await lane.send(ChannelId(1), "tick", key=SendKey(uuid4().hex))


def start(orders: Orders) -> ForkServerProcess:
    """Start a worker; SIGTERM ends it in order, and tests may also kill or freeze it."""
    return child_process.fork(_worker, orders)


def _worker(orders: Orders) -> None:
    logs.set_up(LogLevel.ERROR)  # tests kill these workers on purpose
    asyncio.run(_work(orders))


async def _never(account: Account, vault: Vault, note_connect: NoteConnect) -> NoReturn:
    await asyncio.get_running_loop().create_future()
    raise AssertionError("nobody sets this future")


async def _work(orders: Orders) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, lambda: None)  # Ctrl-C is for the parent, which ends its workers in order
    named = {"home": orders.home, "database_url": SecretStr(orders.database), "worker_name": orders.name}
    settings = Settings(**{**QUICK, **named, **orders.settings})
    async with open_runtime(settings) as runtime:
        setup = await _trade(runtime, orders)
        await run_worker(runtime, openers=setup.openers, work=setup.work, stop=stop, handlers=setup.handlers)


async def _trade(runtime: Runtime, orders: Orders) -> WorkerSetup:
    opener = counting_opener(orders.platform) if orders.platform else _never
    simple = WorkerSetup(dict.fromkeys(registered_platforms(), opener), lambda lane: orders.task(runtime, lane), {})
    if orders.cycle_every is None:
        return simple
    return await worker_setup(runtime, others=simple if orders.platform else None, every=orders.cycle_every)
