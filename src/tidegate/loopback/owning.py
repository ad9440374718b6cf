"""An account in the hands of this very process, for tests and benchmarks: what a worker has, without the worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidegate.clock import Clock, SystemClock
from tidegate.lanes import Lane, ReadLimits
from tidegate.port import Client
from tidegate.store import accounts
from tidegate.store.calls import Ledger
from tidegate.store.database import Database
from tidegate.words import Account, Claim, Platform, Standing

CONTROL = "http://127.0.0.1:1"
"""Where such accounts say their platform is; whoever connects them knows the real place."""

QUICK = ReadLimits(per_second=10_000, at_once=10)
"""Calls are counted there, not timed."""


async def add_account(
    database: Database, name: str, platform: Platform, standing: Standing = Standing.NORMAL, *, at: str | None = CONTROL
) -> Account:
    """Store an account; *at* is the control address of its platform."""
    async with database.transaction() as connection:
        await accounts.add(connection, name, platform, standing, loopback=at)
        return (await accounts.find(connection, name)).account


async def open_lane(
    account: Account,
    client: Client,
    ledger: Ledger,
    database: Database,
    *,
    clock: Clock | None = None,
    epoch: Callable[[], int] = lambda: 0,
    reads: ReadLimits = QUICK,
    **limits: Any,
) -> Lane:
    """A lane as a worker has it, of an owner who is never late."""
    lane = Lane(
        account,
        client,
        claim=lambda: Claim(account.id, epoch(), float("inf")),
        database=database,
        ledger=ledger,
        clock=clock or SystemClock(),
        reads=reads,
        **limits,
    )
    await lane.load()
    return lane
