"""A worker that is killed, ended or frozen is replaced long before a lease of the same time-out would run out."""

from __future__ import annotations

import asyncio
import signal
import statistics
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tidegate.core.clock import SystemClock
from tidegate.database.embedded.data_folder import DataFolder
from tidegate.database.embedded.pg_programs import CURRENT
from tidegate.database.embedded.server import ServerLease
from tidegate.database.migrations.upgrade import upgrade
from tidegate.database.pool import Address, Database
from tidegate.loopback.counting_world import CONTROL, World, make_world
from tidegate.workers.command_client import ask_owner

ACCOUNTS = 300
MANY = 100_000
TIME_OUT = timedelta(seconds=6)


async def run() -> dict[str, Any]:
    """Three workers and 300 accounts, then 100,000 account rows over four; times by the platform's own record."""
    with TemporaryDirectory(prefix="tg-") as folder:
        home = Path(folder)
        home.chmod(0o711)
        seat = await asyncio.to_thread(ServerLease, home / "server", options=["max_connections=300"])
        try:
            return {**await _few(seat, home), "rows": await _many(seat, home)}
        finally:
            await asyncio.to_thread(seat.leave)


async def _few(seat: ServerLease, home: Path) -> dict[str, Any]:
    async with _world(seat.address, home) as world:
        await world.add_accounts(ACCOUNTS)
        for name in "abc":
            world.start_worker(name, time_out=TIME_OUT)
        await world.until_spread(100, 100, 100)
        await world.until_all_called(ACCOUNTS)
        command_s = await _command(world)
        kill_s = await world.seconds_to_move("a", signal.SIGKILL)
        world.start_worker("d", time_out=TIME_OUT)
        await world.until_spread(100, 100, 100)
        term_s = await world.seconds_to_move("b", signal.SIGTERM)
        world.start_worker("e", time_out=TIME_OUT)
        await world.until_spread(100, 100, 100)
        freeze_s = await world.seconds_to_move("c", signal.SIGSTOP)
        world.strike("c", signal.SIGCONT)
        await world.until_spread(100, 100, 100)
        restart_silence_s = await _restart(world, home / "server")
        return {
            "kill_s": round(kill_s, 2),
            "term_s": round(term_s, 2),
            "freeze_s": round(freeze_s, 2),
            "time_out_s": TIME_OUT.total_seconds(),
            "restart_silence_s": round(restart_silence_s, 2),
            "command_s": round(command_s, 3),
            "stale_calls": len(world.platform.record.stale_calls()),
            "calls": len(world.platform.record.calls),
            "baseline": "a lease of the same time-out, which ends no sooner than that after a kill",
            "ratio": round(TIME_OUT.total_seconds() / kill_s, 1),
        }


async def _command(world: World) -> float:
    """How long a command takes from the asker to the owner and back: the median of 20."""
    ids = [row["id"] for row in await world.database.pool.fetch("SELECT id FROM accounts ORDER BY id LIMIT 20")]
    took = []
    for account in ids:
        begun = SystemClock().ticks()
        answer = await ask_owner(world.database, account, "look_again", {}, within=timedelta(seconds=10))
        assert answer is not None
        took.append(SystemClock().ticks() - begun)
    return statistics.median(took)


async def _restart(world: World, home: Path) -> float:
    """Restart the server as after a crash; the longest silence of any account, by the platform's record."""
    await world.until_all_called(ACCOUNTS)
    begun = SystemClock().ticks()
    folder = DataFolder(home)
    restart = (folder.programs(CURRENT) / "pg_ctl", "restart", "-D", "postgresql", "-m", "immediate", "-w")
    assert await asyncio.to_thread(folder.runner.code, *restart) == 0
    await world.until_all_called(ACCOUNTS)
    last: dict[str, float] = {}
    longest = 0.0
    for call in world.platform.record.calls:
        if call.at > begun and call.account in last:
            longest = max(longest, call.at - last[call.account])
        last[call.account] = call.at
    return longest


async def _many(seat: ServerLease, home: Path) -> dict[str, Any]:
    """How long 100,000 rows take to be owned by four workers, and a dead worker's quarter by the other three."""
    async with _world(seat.address, home) as world:
        await world.database.pool.execute(
            """
            INSERT INTO accounts (name, platform, loopback)
            SELECT 'account-' || number, 'discord', $2 FROM generate_series(1, $1) AS number
            """,
            MANY, CONTROL,
        )  # fmt: skip
        await world.database.pool.execute("VACUUM ANALYZE accounts")
        begun = SystemClock().ticks()
        for name in "abcd":
            world.start_worker(name, time_out=TIME_OUT, seats=MANY, platform="")
        await world.until_spread(*[MANY // 4] * 4)
        spread_s = SystemClock().ticks() - begun
        begun = SystemClock().ticks()
        world.strike("a", signal.SIGKILL)
        await world.until("the rest took over", lambda: _all_owned(world, 3))
        takeover_s = SystemClock().ticks() - begun
        locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        return {
            "accounts": MANY,
            "workers": 4,
            "spread_s": round(spread_s, 2),
            "takeover_s": round(takeover_s, 2),
            "locks": await world.database.pool.fetchval(locks),
        }


async def _all_owned(world: World, workers: int) -> bool:
    spread = await world.spread()
    return len(spread) == workers and sum(spread.values()) == MANY


@asynccontextmanager
async def _world(server: Address, home: Path) -> AsyncIterator[World]:
    """A world in a database that is emptied for it."""
    database = await Database.open(server)
    await database.pool.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    await upgrade(server.direct)
    try:
        async with make_world(server, database, home / "workers") as world:
            yield world
    finally:
        await database.close()
