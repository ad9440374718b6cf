"""A send is charged and on the ledger for at most twice the price of a bare commit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import asyncpg

from bench._database_server import own_database
from tidegate.accounts.queries import accounts
from tidegate.core.account import Claim, Standing
from tidegate.core.clock import SystemClock
from tidegate.core.ids import AccountId
from tidegate.database.pool import Database
from tidegate.lanes.queries import pace
from tidegate.lanes.rules.slowdown_after_warning import Allowance
from tidegate.platforms.whatsapp import WHATSAPP

ACCOUNTS = 100
ROUNDS = 5
SECONDS = 2.0
UNBOUND = Allowance(ceiling=60_000_000)
"""A gap of two microseconds: what is measured is the database, not the pace."""

Step = Callable[[asyncpg.Connection, AccountId], Awaitable[object]]


async def run() -> dict[str, float]:
    """100 accounts claim at once, each on its own connection; in turns with single-row commits on the same ones."""
    async with own_database(connections=ACCOUNTS) as database, AsyncExitStack() as stack:
        everybody = await _accounts(database)
        await database.pool.execute(
            "CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account bigint NOT NULL)"
        )
        sessions = [await stack.enter_async_context(database.pool.acquire()) for _ in everybody]
        members = list(zip(sessions, everybody, strict=True))
        await _rate(members, _claim, 0.5)  # every statement prepared, every page in memory
        await _rate(members, _commit, 0.5)
        claims = commits = 0.0
        for _ in range(ROUNDS):
            commits += await _rate(members, _commit, SECONDS) / ROUNDS
            claims += await _rate(members, _claim, SECONDS) / ROUNDS
    return {
        "claims_per_second": round(claims),
        "raw_commits_per_second": round(commits),
        "ratio": round(claims / commits, 2),
        "accounts": ACCOUNTS,
    }


async def _accounts(database: Database) -> list[AccountId]:
    made = []
    async with database.transaction() as connection:
        for number in range(ACCOUNTS):
            name = f"account {number}"
            account = await accounts.add(connection, name, WHATSAPP, Standing.NORMAL, loopback=None)
            await pace.set_pace(connection, account, UNBOUND)
            made.append(account)
    return made


async def _claim(connection: asyncpg.Connection, account: AccountId) -> None:
    answer = await pace.claim_send(connection, Claim(account, 0, 0.0), "send")
    assert isinstance(answer, pace.GrantedSend)


async def _commit(connection: asyncpg.Connection, account: AccountId) -> None:
    await connection.fetchrow("INSERT INTO bare (account) VALUES ($1) RETURNING id", account)


async def _rate(members: list[tuple[asyncpg.Connection, AccountId]], step: Step, seconds: float) -> float:
    """How many steps a second all members make together."""
    clock = SystemClock()
    start = clock.ticks()

    async def work(connection: asyncpg.Connection, account: AccountId) -> int:
        done = 0
        while clock.ticks() - start < seconds:
            await step(connection, account)
            done += 1
        return done

    counts = await asyncio.gather(*(work(*member) for member in members))
    return sum(counts) / (clock.ticks() - start)
