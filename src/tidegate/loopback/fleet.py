"""Worker processes to be killed, frozen and ended on purpose, against the counting platform.

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

from tidegate import logs
from tidegate.app import House, open_house, run_worker
from tidegate.clock import SystemClock
from tidegate.lanes import Lane
from tidegate.loopback.client import counting_opener
from tidegate.mirroring import Trade, trade_of
from tidegate.port import ChannelId, NoteConnect, SendKey, Vault
from tidegate.setting_kinds import LogLevel
from tidegate.settings import Settings
from tidegate.words import Account, Platform

_START = multiprocessing.get_context("forkserver")
_START.set_forkserver_preload(["tidegate.loopback.fleet"])

Task = Callable[[House, Lane], Awaitable[None]]

QUICK: Mapping[str, Any] = {
    "time_out": timedelta(seconds=6),
    "telegram_reads_per_second": 100,
    "whatsapp_reads_per_second": 25,
}
"""Settings of all these workers: no platform is hurt, and nobody wants to wait."""


@dataclass(frozen=True, slots=True)
class Orders:
    """What a worker of the fleet is told: where the database and the platform are, and what to do for each account.

    With *cycle_every* it works as ``tidegate worker`` does, but for WhatsApp accounts where there is a counting
    platform: for those it does its task. Without either it owns accounts and never gets to connect them. *settings* are
    those that differ from the operator's usual ones.
    """

    database: str
    platform: str
    home: Path
    name: str
    task: Task
    cycle_every: timedelta | None
    settings: Mapping[str, Any]


async def keep_looking(house: House, lane: Lane) -> None:
    """Look at a channel again and again: shows by the platform's record who serves the account."""
    while True:
        await lane.heads([ChannelId(1)])
        await SystemClock().sleep(timedelta(milliseconds=400))


async def keep_sending(house: House, lane: Lane) -> None:
    """Send as fast as the pace allows."""
    while True:
        await lane.send(ChannelId(1), "tick", key=SendKey(uuid4().hex))


def start(orders: Orders) -> ForkServerProcess:
    """Start a worker; it ends in order on SIGTERM, and in any other way it is made to."""
    process = _START.Process(target=_worker, args=(orders,), daemon=True)
    process.start()
    return process


def _worker(orders: Orders) -> None:
    logs.set_up(LogLevel.ERROR)  # what happens to these workers is meant to
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
    async with open_house(settings) as house:
        trade = await _trade(house, orders)
        await run_worker(house, openers=trade.openers, work=trade.work, stop=stop, handlers=trade.handlers)


async def _trade(house: House, orders: Orders) -> Trade:
    opener = counting_opener(orders.platform) if orders.platform else _never
    simple = Trade(dict.fromkeys(Platform, opener), lambda lane: orders.task(house, lane), {})
    if orders.cycle_every is None:
        return simple
    return await trade_of(house, others=simple if orders.platform else None, every=orders.cycle_every)
