"""``tidegate demo``: a living Tidegate on this machine alone, in a folder that is gone afterwards."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.cli import shell
from tidegate.cli.web import address_of, greet

if TYPE_CHECKING:
    from tidegate.loopback.promises import Promise
    from tidegate.loopback.stage import Stage
    from tidegate.store.database import Address

WORKERS = ("anna", "ben", "cleo")
ACCOUNTS = 30
TELEGRAM, PHONE = "ada", "+10000000001"
FOLLOWED = ("Dragon Hoard", "Workshop News")

_TO_TRY = (
    ("account list", "who serves what"),
    ("archive list", "what was found; then: archive show ID, archive preview ID FILE"),
    ("search dragon", "messages, and files inside archives"),
    (f"plan {TELEGRAM}", "what the next cycle would decide and could cost"),
    (f"cycle {TELEGRAM}", "one now, made by the worker that serves the account"),
    ("calls", "what it cost, method by method"),
    ("feed --follow", "what happens, as it happens"),
)


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
    from tidegate.platforms.telegram import sign_in

    shown: list[Promise] = []
    async with _database() as (address, home):
        async for promise in tour(address, home / "workers", sign_in):
            shown.append(promise)
            shell.say(f"{'held  ' if promise.held else 'BROKEN'} {promise.promise}: {promise.figure} ({promise.limit})")
    held = all(promise.held for promise in shown)
    if as_json:
        shell.print_json({"promises": [promise.as_json() for promise in shown], "held": held})
    if not held:
        raise typer.Exit(1)


async def _demo() -> None:
    from tidegate.clock import SystemClock
    from tidegate.loopback.passers_by import keep_posting
    from tidegate.loopback.stage import make_stage
    from tidegate.loopback.telegram.making import SMALL_WORLD
    from tidegate.loopback.telegram.making import make_world as make_telegram
    from tidegate.loopback.world import make_world
    from tidegate.platforms.telegram import sign_in
    from tidegate.sources import load
    from tidegate.store.database import Database
    from tidegate.web import listen, make_app, serve_web
    from tidegate.words import Platform

    async with AsyncExitStack() as stack:
        address, home = await stack.enter_async_context(_database())
        end = await stack.enter_async_context(shell.told_to_end())
        database = await Database.open(address)
        stack.push_async_callback(database.close)
        listener = stack.enter_context(listen("127.0.0.1", 0))
        loaded = load({"TIDEGATE_HOME": str(home)}, folder=home)
        await stack.enter_async_context(_beside(serve_web(make_app(database, loaded), listener)))
        world = await stack.enter_async_context(make_world(address, database, home / "workers"))
        await world.add_accounts(ACCOUNTS, Platform.WHATSAPP)
        platform = make_telegram(SMALL_WORLD, SystemClock())
        stage = await stack.enter_async_context(make_stage(world, platform, sign_in, name=TELEGRAM, phone=PHONE))
        for name in WORKERS:
            stage.start_worker(name)
        await stage.enable(*FOLLOWED)
        await stack.enter_async_context(_beside(stage.ask("cycle")))
        await stack.enter_async_context(_beside(keep_posting(platform, *FOLLOWED)))
        pages = address_of(loaded.settings, *listener.getsockname()[:2])
        _explain(address, pages)
        await greet(database, pages)
        await _show(stage, end)


def _explain(address: Address, pages: str) -> None:
    """What there is to try, and how."""
    program = sys.argv[0]
    followed = " and ".join(f'"{title}"' for title in FOLLOWED)
    shell.say(
        f"The Telegram account {TELEGRAM} mirrors {followed}, where people post every few seconds; {ACCOUNTS} others"
    )
    shell.say(f"keep three workers busy. The pages are on {pages}; the link at the end signs you in.")
    shell.say("From another terminal:")
    shell.say(f"  export DATABASE_URL='{address.url}'")
    for command, what in _TO_TRY:
        shell.say(f"  {program} {command:<22} # {what}")
    shell.say("Kill a worker (kill -9 PID) and watch its accounts move. Ctrl-C ends everything.")


async def _show(stage: Stage, end: asyncio.Event) -> None:
    """One line a second: who serves how many accounts, and how many calls the platforms got."""
    world, before = stage.world, 0
    while not end.is_set():
        spread = await world.spread()
        calls = len(world.platform.record.calls)
        who = ", ".join(f"{name} (PID {world.workers[name].pid}) {count}" for name, count in sorted(spread.items()))
        archives = await world.database.pool.fetchval("SELECT count(*) FROM archives WHERE state = 'filed'")
        told = f"Telegram: {stage.counted().total()} calls, {archives} archives filed"
        print(f"{calls - before:>4} calls/s   {told}   accounts: {who or 'nobody yet'}", flush=True)
        before = calls
        try:
            async with asyncio.timeout(1):
                await end.wait()
        except TimeoutError:
            continue


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, object]) -> AsyncIterator[None]:
    """Do something for as long as the block lasts."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


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
