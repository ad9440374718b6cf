"""An account that this process owns without a worker, for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.accounts.queries import accounts
from tidegate.core.account import Account, Claim, Standing
from tidegate.core.clock import Clock, SystemClock
from tidegate.core.platform import Platform
from tidegate.database.pool import Database
from tidegate.lanes import CallGate, Lane, ReadLimits, SendLimits
from tidegate.lanes.call_limits import CAREFUL
from tidegate.lanes.queries.calls import CallLog
from tidegate.platforms.interface import PlatformClient

CONTROL = "http://127.0.0.1:1"
"""The control address of such accounts; the code that connects them knows the real one."""

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
    client: PlatformClient,
    call_log: CallLog,
    database: Database,
    *,
    clock: Clock | None = None,
    epoch: Callable[[], int] = lambda: 0,
    reads: ReadLimits = QUICK,
    sends: SendLimits = CAREFUL,
) -> Lane:
    """A lane as a worker has it, of an owner who is never late."""
    gate = CallGate(
        account,
        client,
        claim=lambda: Claim(account.id, epoch(), float("inf")),
        database=database,
        call_log=call_log,
        clock=clock or SystemClock(),
        sends=sends,
    )
    await gate.load()
    return Lane(gate, reads=reads)
