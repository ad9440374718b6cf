"""``tidegate demo``: a running Tidegate with loopback platforms, in a temporary folder."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import command_runner
from tidegate.cli.service.web import address_of, greet
from tidegate.core import terminal

if TYPE_CHECKING:
    from tidegate.database.pool import Address
    from tidegate.demo.running_demo import RunningDemo
    from tidegate.demo.tour_check import Promise
    from tidegate.loopback.counting_world import World
    from tidegate.loopback.platform_set import Platforms

WORKERS = ("anna", "ben", "cleo")


def demo(
    *,
    once: Annotated[bool, typer.Option("--once", help="Check every feature once, and exit.")] = False,
    json: Annotated[bool, typer.Option("--json", help="With --once: print one JSON document.")] = False,
) -> None:
    """Start a small Tidegate to try. It runs on loopback platforms; Ctrl-C stops it."""
    from tidegate.app import logs
    from tidegate.app.setting_sources import forget_secrets
    from tidegate.app.setting_types import LogLevel

    forget_secrets()  # a demo has settings of its own
    logs.set_up(LogLevel.ERROR)  # what happens to the workers of a demo is meant to
    command_runner.run(_once(as_json=json) if once else _demo())


async def _once(*, as_json: bool) -> None:
    from tidegate.demo.demo_tour import tour

    shown: list[Promise] = []
    async with _database() as (address, home):
        async for promise in tour(address, home / "workers"):
            shown.append(promise)
            terminal.say(
                f"{'held  ' if promise.held else 'BROKEN'} {promise.promise}: {promise.figure} ({promise.limit})"
            )
    held = all(promise.held for promise in shown)
    if as_json:
        terminal.print_json({"promises": [promise.as_json() for promise in shown], "held": held})
    if not held:
        raise typer.Exit(1)


async def _demo() -> None:
    from tidegate.app.composition import Runtime
    from tidegate.app.setting_sources import load
    from tidegate.core.task_groups import beside
    from tidegate.database.pool import Database
    from tidegate.demo.running_demo import start_demo
    from tidegate.loopback.counting_world import make_world
    from tidegate.web import listen, make_app, serve_web

    async with AsyncExitStack() as stack:
        address, folder = await stack.enter_async_context(_database())
        end = await stack.enter_async_context(command_runner.stop_signal())
        database = await Database.open(address)
        stack.push_async_callback(database.close)
        home = folder / "workers"
        loaded = load({"TIDEGATE_HOME": str(home)}, folder=folder)
        listener = stack.enter_context(listen("127.0.0.1", 0))
        await stack.enter_async_context(beside(serve_web(make_app(database, loaded), listener)))
        world = await stack.enter_async_context(make_world(address, database, home))
        starting = start_demo(Runtime(loaded.settings, database), world, *WORKERS)
        demo = await stack.enter_async_context(starting)
        pages = address_of(loaded.settings, listener)
        _explain(address, pages, demo)
        await greet(database, pages)
        await _show(world, demo.platforms, end)


def _explain(address: Address, pages: str, demo: RunningDemo) -> None:
    """Print what to try, and how."""
    from tidegate.demo.accounts_to_add import what_to_type
    from tidegate.demo.running_demo import DISCORD, FAILED, FOLLOWED, REMINDER, TELEGRAM, WHATSAPP

    program = sys.argv[0]
    followed = " and ".join(f'"{title}"' for title in FOLLOWED)
    terminal.say(
        f"The Telegram account {TELEGRAM} mirrors {followed}, the Discord bot {DISCORD} a server; people post there"
    )
    terminal.say(
        f'every few seconds. The WhatsApp account {WHATSAPP} delivers "{REMINDER}" to 80 groups, 40 messages a minute.'
    )
    terminal.say(f"The archive {FAILED}.zip has failed, to be retried.")
    terminal.say(f"The pages are on {pages}; the link at the end signs you in. Accounts to add there:")
    for sentence in what_to_type(demo.platforms, demo.control):
        terminal.say(f"  {sentence}")
    terminal.say("From another terminal:")
    terminal.say(f"  export DATABASE_URL='{address.url}'")
    for command, what in (
        ("account list", "who serves what"),
        ("archive list", "what was found; then: archive show ID, archive preview ID FILE"),
        ("search dragon", "messages, and files inside archives"),
        (f"plan {TELEGRAM}", "what the next cycle would decide and could cost"),
        ("runs show 1", "how far the reminder is; then: runs pause 1, runs resume 1"),
        ("calls", "what it cost, method by method"),
        ("feed --follow", "what happens, as it happens"),
    ):
        terminal.say(f"  {program} {command:<15} # {what}")
    terminal.say("Kill a worker (kill -9 PID) and watch its accounts move. Ctrl-C ends everything.")


async def _show(world: World, platforms: Platforms, end: asyncio.Event) -> None:
    """One line per second: accounts per worker, calls the platforms counted, and progress of the reminder."""
    from tidegate.demo.running_demo import filed_archives

    with terminal.changing_line() as tell:
        while not end.is_set():
            spread = await world.spread()
            who = ", ".join(f"{name} (PID {world.workers[name].pid}) {count}" for name, count in sorted(spread.items()))
            archives = await filed_archives(world)
            calls = {name: record.by_method().total() for name, record in platforms.records.items()}
            spent = f"calls: {', '.join(f'{name} {count}' for name, count in calls.items())}"
            sent = f"{len(platforms.records['whatsapp'].sends)} sent"
            tell(f"{spent}   {archives} archives filed   {sent}   accounts: {who or 'none yet'}")
            try:
                async with asyncio.timeout(1):
                    await end.wait()
            except TimeoutError:
                continue


@asynccontextmanager
async def _database() -> AsyncIterator[tuple[Address, Path]]:
    """An embedded database in a folder of its own."""
    from tidegate.database.embedded.server import ServerLease
    from tidegate.database.migrations.upgrade import upgrade

    with _folder() as home:
        lease = await asyncio.to_thread(ServerLease, home / "data", options=["max_connections=200"])
        try:
            await upgrade(lease.address.direct)
            yield lease.address, home
        finally:
            await asyncio.to_thread(lease.leave)


@contextmanager
def _folder() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="tidegate-demo-"))
    try:
        if os.geteuid() == 0:
            home.chmod(0o711)  # the database's own user has to get through
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)
