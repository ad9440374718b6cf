"""``tidegate loopback``: platforms on 127.0.0.1 to try Tidegate against, in a process of their own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import shell

if TYPE_CHECKING:
    from tidegate.loopback.discord import DiscordServer
    from tidegate.loopback.telegram import TelegramServer


def loopback(
    port: Annotated[int, typer.Option(help="The control address's port; 0 takes a free one.")] = 0,
    latency_ms: Annotated[int, typer.Option(min=0, help="How long every call takes.")] = 0,
    world: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The world to begin with, as docs/loopback.md describes it.")
    ] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the world here, and go on with it after a restart.")
    ] = None,
) -> None:
    """Run the loopback platforms until ended; prints one JSON line when they are ready.

    They count every call and keep every message they were sent. Nothing leaves this machine.
    """
    shell.run(_loopback(port, timedelta(milliseconds=latency_ms), world, state))


async def _loopback(port: int, latency: timedelta, world: Path | None, state: Path | None) -> None:
    from tidegate.clock import SystemClock
    from tidegate.loopback.control import make_control
    from tidegate.loopback.counting import CountingPlatform
    from tidegate.web import listen, serve_web

    with listen("127.0.0.1", port) as listener:
        async with _platforms(latency, world, state) as (telegram, discord):
            platform = CountingPlatform(SystemClock(), latency=latency)
            address = await platform.start()
            app = make_control(platform, address, telegram, discord)
            serving = asyncio.create_task(serve_web(app, listener))
            control = "http://{}:{}".format(*listener.getsockname()[:2])
            ready = {"control": control, "counting": address, "telegram": telegram.address, "discord": discord.address}
            print(json.dumps(ready), flush=True)
            async with shell.told_to_end() as end:
                await end.wait()
            serving.cancel()
            await asyncio.wait([serving])
            await platform.close()


@asynccontextmanager
async def _platforms(
    latency: timedelta, world: Path | None, state: Path | None
) -> AsyncIterator[tuple[TelegramServer, DiscordServer]]:
    """The platforms with a truth of their own, kept in *state* while they run and once more when they end."""
    from tidegate.loopback.discord.keeping import kept as kept_discord
    from tidegate.loopback.keeping import keep
    from tidegate.loopback.telegram.keeping import kept as kept_telegram

    telegram, discord = _begin(latency, world, state)
    await telegram.start()
    await discord.start()
    platforms = (kept_telegram(telegram), kept_discord(discord))
    keeping = asyncio.create_task(keep(state, platforms)) if state is not None else None
    try:
        yield telegram, discord
    finally:
        if keeping is not None:
            keeping.cancel()
            await asyncio.wait([keeping])
        await telegram.close()
        await discord.close()


def _begin(latency: timedelta, world: Path | None, state: Path | None) -> tuple[TelegramServer, DiscordServer]:
    """The worlds that were kept, on the ports they had; else those that were given, else the small one."""
    from tidegate.clock import SystemClock
    from tidegate.loopback.discord import DiscordServer
    from tidegate.loopback.discord.making import make_world as make_discord
    from tidegate.loopback.telegram import TelegramServer
    from tidegate.loopback.telegram.making import make_world as make_telegram
    from tidegate.loopback.worlds import SMALL_WORLD, load_worlds, read_world

    clock = SystemClock()
    if state is not None and state.exists():
        (first, telegram_port), (second, discord_port) = load_worlds(state, clock)
    else:
        spec = read_world(world) if world else SMALL_WORLD
        first, telegram_port = make_telegram(spec, clock), 0
        second, discord_port = make_discord(spec.discord, clock, seed=spec.seed), 0
    telegram = TelegramServer(first, clock, latency=latency, port=telegram_port)
    return telegram, DiscordServer(second, clock, latency=latency, port=discord_port)
