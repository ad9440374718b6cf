"""Three workers, 300 accounts: at no instant two owners of one account, whatever happens to the workers.

Invariant: one-owner-per-account.
"""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

from tests.servers import OwnServer
from tests.stories.wire import Wire
from tidegate.loopback.counting_world import World


async def test_accounts_spread_and_move_when_workers_come_and_go(world: World) -> None:
    """Even shares; kill, SIGTERM and freeze move accounts; a newcomer gets its share; nobody is ever served twice."""
    await world.add_accounts(300)
    for name in "abc":
        world.start_worker(name)
    await world.until_spread(100, 100, 100)
    await world.until_all_called(300)

    world.strike("a", signal.SIGKILL)
    await world.until_spread(150, 150)
    await world.until_all_called(300, besides="a")

    world.start_worker("d")
    await world.until_spread(100, 100, 100)

    world.strike("b", signal.SIGTERM)
    await world.until_spread(150, 150)
    await world.until_all_called(300, besides="b")
    assert world.overlaps() == []

    world.strike("c", signal.SIGSTOP)
    await world.until_all_called(300, besides="c")
    world.strike("c", signal.SIGCONT)
    await world.until_spread(150, 150)
    await world.until_all_called(300)
    assert world.overlaps(frozen="c") == []
    assert world.platform.record.stale_calls() == []


async def test_a_restart_of_the_database_moves_nobody(own_world: World, own_server: OwnServer) -> None:
    """Workers come back by themselves and take back their own accounts, which stay connected to their platform."""
    world = own_world
    await world.add_accounts(300)
    for name in "abc":
        world.start_worker(name)
    await world.until_spread(100, 100, 100)
    await world.until_all_called(300)
    connected = len(world.platform.record.sessions)

    await asyncio.to_thread(own_server.restart)
    await world.until_all_called(300)
    await world.until_spread(100, 100, 100)
    assert len(world.platform.record.sessions) == connected
    assert world.platform.record.stale_calls() == []


async def test_a_lost_session_moves_nobody(world: World) -> None:
    """A broken connection to the database is not a death: the worker is back before anyone takes its accounts."""
    await world.add_accounts(20)
    for name in "ab":
        world.start_worker(name)
    await world.until_spread(10, 10)
    await world.until_all_called(20)
    connected = len(world.platform.record.sessions)

    ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE '% lives'"
    assert await world.database.pool.fetchval(ended + " AND datname = current_database()") == 2
    await world.until("both came back", lambda: _alive(world, 2))
    await world.until_all_called(20)
    told = await world.database.pool.fetch("SELECT kind, subject FROM events WHERE kind LIKE 'worker.%' ORDER BY id")
    assert sorted((row["kind"], row["subject"]) for row in told) == [
        ("worker.came_back", "a"), ("worker.came_back", "b"), ("worker.joined", "a"), ("worker.joined", "b"),
    ]  # fmt: skip
    assert len(world.platform.record.sessions) == connected
    assert world.platform.record.stale_calls() == []


async def _alive(world: World, count: int) -> bool:
    sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '% lives' AND datname = current_database()"
    return bool(await world.database.pool.fetchval(sql) == count)


async def test_a_worker_that_is_cut_off_lets_go_before_its_accounts_are_taken(world: World, test_folder: Path) -> None:
    """The network between worker and database goes dead without a word: no two connections of one account, ever."""
    await world.add_accounts(20)
    async with Wire(world.address, test_folder) as wire:
        world.start_worker("cut-off", database=wire.address)
        await world.until_spread(20)
        await world.until_all_called(20)
        world.start_worker("next")
        await world.until_spread(10, 10)
        wire.cut()
        await world.until_all_called(20, besides="cut-off")
    assert world.overlaps() == []
    assert world.platform.record.stale_calls() == []
