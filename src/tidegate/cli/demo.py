"""``tidegate demo``: a living Tidegate on this machine alone, in a folder that is gone afterwards."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import shell
from tidegate.cli.web import address_of, greet

if TYPE_CHECKING:
    from tidegate.loopback.living import Life
    from tidegate.loopback.platforms import Platforms
    from tidegate.loopback.promises import Promise
    from tidegate.loopback.world import World
    from tidegate.store.database import Address

WORKERS = ("anna", "ben", "cleo")


def demo(
    *,
    once: Annotated[bool, typer.Option("--once", help="Try every promise once, and end.")] = False,
    json: Annotated[bool, typer.Option("--json", help="With --once: print one JSON document.")] = False,
) -> None:
    """Start a small Tidegate against loopback platforms, on this machine alone; Ctrl-C ends all of it."""
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
    from tidegate.app import House
    from tidegate.loopback.living import begin_life
    from tidegate.loopback.world import make_world
    from tidegate.side_by_side import beside
    from tidegate.sources import load
    from tidegate.store.database import Database
    from tidegate.web import listen, make_app, serve_web

    async with AsyncExitStack() as stack:
        address, folder = await stack.enter_async_context(_database())
        end = await stack.enter_async_context(shell.told_to_end())
        database = await Database.open(address)
        stack.push_async_callback(database.close)
        home = folder / "workers"
        loaded = load({"TIDEGATE_HOME": str(home)}, folder=folder)
        listener = stack.enter_context(listen("127.0.0.1", 0))
        await stack.enter_async_context(beside(serve_web(make_app(database, loaded), listener)))
        world = await stack.enter_async_context(make_world(address, database, home))
        life = begin_life(House(loaded.settings, database), world, *WORKERS)
        living = await stack.enter_async_context(life)
        pages = address_of(loaded.settings, *listener.getsockname()[:2])
        _explain(address, pages, living)
        await greet(database, pages)
        await _show(world, living.platforms, end)


def _explain(address: Address, pages: str, life: Life) -> None:
    """What there is to try, and how."""
    from tidegate.loopback.living import DISCORD, FAILED, FOLLOWED, REMINDER, TELEGRAM, WHATSAPP
    from tidegate.loopback.newcomers import what_to_type

    program = sys.argv[0]
    followed = " and ".join(f'"{title}"' for title in FOLLOWED)
    shell.say(
        f"The Telegram account {TELEGRAM} mirrors {followed}, the Discord bot {DISCORD} a server; people post there"
    )
    shell.say(
        f'every few seconds. The WhatsApp account {WHATSAPP} delivers "{REMINDER}" to 80 groups, 40 messages a minute.'
    )
    shell.say(f"The archive {FAILED}.zip has failed, to be retried.")
    shell.say(f"The pages are on {pages}; the link at the end signs you in. Accounts to add there:")
    for sentence in what_to_type(life.platforms, life.control):
        shell.say(f"  {sentence}")
    shell.say("From another terminal:")
    shell.say(f"  export DATABASE_URL='{address.url}'")
    for command, what in (
        ("account list", "who serves what"),
        ("archive list", "what was found; then: archive show ID, archive preview ID FILE"),
        ("search dragon", "messages, and files inside archives"),
        (f"plan {TELEGRAM}", "what the next cycle would decide and could cost"),
        ("runs show 1", "how far the reminder is; then: runs pause 1, runs resume 1"),
        ("calls", "what it cost, method by method"),
        ("feed --follow", "what happens, as it happens"),
    ):
        shell.say(f"  {program} {command:<15} # {what}")
    shell.say("Kill a worker (kill -9 PID) and watch its accounts move. Ctrl-C ends everything.")


async def _show(world: World, platforms: Platforms, end: asyncio.Event) -> None:
    """One line a second: who serves how many accounts, what the platforms counted, and how far the reminder is."""
    with _telling() as tell:
        while not end.is_set():
            spread = await world.spread()
            who = ", ".join(f"{name} (PID {world.workers[name].pid}) {count}" for name, count in sorted(spread.items()))
            archives = await world.database.pool.fetchval("SELECT count(*) FROM archives WHERE state = 'filed'")
            calls = {name: record.by_method().total() for name, record in platforms.records.items()}
            told = f"calls: {', '.join(f'{name} {count}' for name, count in calls.items())}"
            sent = f"{len(platforms.records['whatsapp'].sends)} sent"
            tell(f"{told}   {archives} archives filed   {sent}   accounts: {who or 'nobody yet'}")
            try:
                async with asyncio.timeout(1):
                    await end.wait()
            except TimeoutError:
                continue


@contextmanager
def _telling() -> Iterator[Callable[[str], None]]:
    """At a terminal each line takes the place of the last, so that what there is to try stays in sight."""
    from rich.live import Live
    from rich.text import Text

    if not sys.stdout.isatty():
        yield lambda line: print(line, flush=True)
        return
    with Live(auto_refresh=False) as live:
        yield lambda line: live.update(Text(line), refresh=True)


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
