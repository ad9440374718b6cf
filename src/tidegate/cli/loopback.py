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
    from tidegate.loopback.whatsapp import WhatsAppServer

    Servers = tuple[TelegramServer, DiscordServer, WhatsAppServer]


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
        async with _platforms(latency, world, state) as servers:
            platform = CountingPlatform(SystemClock(), latency=latency)
            address = await platform.start()
            app = make_control(platform, address, *servers)
            serving = asyncio.create_task(serve_web(app, listener))
            control = "http://{}:{}".format(*listener.getsockname()[:2])
            places = dict(zip(("telegram", "discord", "whatsapp"), (server.address for server in servers), strict=True))
            print(json.dumps({"control": control, "counting": address, **places}), flush=True)
            async with shell.told_to_end() as end:
                await end.wait()
            serving.cancel()
            await asyncio.wait([serving])
            await platform.close()


@asynccontextmanager
async def _platforms(latency: timedelta, world: Path | None, state: Path | None) -> AsyncIterator[Servers]:
    """The platforms with a truth of their own, kept in *state* while they run and once more when they end."""
    from tidegate.loopback.discord.keeping import kept as kept_discord
    from tidegate.loopback.keeping import keep
    from tidegate.loopback.telegram.keeping import kept as kept_telegram
    from tidegate.loopback.whatsapp.keeping import kept as kept_whatsapp

    servers = telegram, discord, whatsapp = _begin(latency, world, state)
    for server in servers:
        await server.start()
    platforms = (kept_telegram(telegram), kept_discord(discord), kept_whatsapp(whatsapp))
    keeping = asyncio.create_task(keep(state, platforms)) if state is not None else None
    try:
        yield servers
    finally:
        if keeping is not None:
            keeping.cancel()
            await asyncio.wait([keeping])
        for server in servers:
            await server.close()


def _begin(latency: timedelta, world: Path | None, state: Path | None) -> Servers:
    """The worlds that were kept, on the ports they had; else those that were given, else the small one."""
    from tidegate.clock import SystemClock
    from tidegate.loopback.discord import DiscordServer
    from tidegate.loopback.telegram import TelegramServer
    from tidegate.loopback.whatsapp import WhatsAppServer
    from tidegate.loopback.worlds import SMALL_WORLD, load_worlds, make_worlds, read_world

    clock = SystemClock()
    if state is not None and state.exists():
        first, second, third = load_worlds(state, clock)
    else:
        first, second, third = make_worlds(read_world(world) if world else SMALL_WORLD, clock)
    return (
        TelegramServer(first[0], clock, latency=latency, port=first[1]),
        DiscordServer(second[0], clock, latency=latency, port=second[1]),
        WhatsAppServer(third[0], clock, latency=latency, port=third[1]),
    )
