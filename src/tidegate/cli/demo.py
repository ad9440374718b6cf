"""``tidegate demo``: a living Tidegate on this machine alone, in a folder that is gone afterwards."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import shell

if TYPE_CHECKING:
    from tidegate.loopback.tour import Promise
    from tidegate.loopback.world import World
    from tidegate.store.database import Address

WORKERS = ("anna", "ben", "cleo")
ACCOUNTS = 30


def demo(
    *,
    once: Annotated[bool, typer.Option("--once", help="Try every promise once, and end.")] = False,
    json: Annotated[bool, typer.Option("--json", help="With --once: print one JSON document.")] = False,
) -> None:
    """Start a small Tidegate against the loopback platform, on this machine alone; Ctrl-C ends all of it."""
    from tidegate import logs
    from tidegate.setting_kinds import LogLevel

    logs.set_up(LogLevel.ERROR)  # what happens to the workers of a demo is meant to
    shell.run(_once(as_json=json) if once else _demo())


async def _once(*, as_json: bool) -> None:
    from tidegate.loopback.tour import tour

    shown: list[Promise] = []
    async with _database() as (address, home):
        async for promise in tour(address, home / "workers"):
            shown.append(promise)
            shell.say(f"{'held  ' if promise.held else 'BROKEN'} {promise.promise}: {promise.figure} ({promise.limit})")
    held = all(promise.held for promise in shown)
    if as_json:
        shell.print_json({"promises": [promise.as_json() for promise in shown], "held": held})
    if not held:
        raise typer.Exit(1)


async def _demo() -> None:
    from tidegate.loopback.world import make_world
    from tidegate.store.database import Database
    from tidegate.web import listen, make_app, serve_web

    async with _database() as (address, home), shell.told_to_end() as end:
        database = await Database.open(address)
        with listen("127.0.0.1", 0) as listener:
            web = asyncio.create_task(serve_web(make_app(database), listener))
            async with make_world(address, database, home / "workers") as world:
                await world.add_accounts(ACCOUNTS)
                for name in WORKERS:
                    world.start_worker(name)
                host, port = listener.getsockname()[:2]
                shell.say(f"Health and metrics: http://{host}:{port}/health and /metrics. No sign-in is needed yet.")
                shell.say(f"From another terminal: DATABASE_URL='{address.url}' {sys.argv[0]} account list")
                shell.say("Kill a worker (kill -9 PID) and watch its accounts move. Ctrl-C ends everything.")
                await _show(world, end)
            web.cancel()
            await asyncio.wait([web])
        await database.close()


async def _show(world: World, end: asyncio.Event) -> None:
    """One line a second: who serves how many accounts, and how many calls the platform got."""
    before = 0
    while not end.is_set():
        spread = await world.spread()
        calls = len(world.platform.record.calls)
        who = ", ".join(f"{name} (PID {world.workers[name].pid}) {count}" for name, count in sorted(spread.items()))
        print(f"{calls - before:>4} calls/s   accounts: {who or 'nobody yet'}", flush=True)
        before = calls
        try:
            async with asyncio.timeout(1):
                await end.wait()
        except TimeoutError:
            continue


@asynccontextmanager
async def _database() -> AsyncIterator[tuple[Address, Path]]:
    """An embedded database in a folder of its own."""
    from tidegate.store.embedded import Seat
    from tidegate.store.upgrade import upgrade

    with _folder() as home:
        seat = await asyncio.to_thread(Seat, home / "data", options=["max_connections=200"])
        try:
            await upgrade(seat.address.direct)
            yield seat.address, home
        finally:
            await asyncio.to_thread(seat.leave)


@contextmanager
def _folder() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="tidegate-demo-"))
    try:
        if os.geteuid() == 0:
            home.chmod(0o711)  # the database's own user has to get through
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)
