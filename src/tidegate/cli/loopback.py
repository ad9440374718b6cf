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
    from tidegate.clock import Clock
    from tidegate.loopback.telegram import TelegramServer, World


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
        async with _telegram(latency, world, state) as telegram:
            platform = CountingPlatform(SystemClock(), latency=latency)
            address = await platform.start()
            serving = asyncio.create_task(serve_web(make_control(platform, address, telegram), listener))
            control = "http://{}:{}".format(*listener.getsockname()[:2])
            print(json.dumps({"control": control, "counting": address, "telegram": telegram.address}), flush=True)
            async with shell.told_to_end() as end:
                await end.wait()
            serving.cancel()
            await asyncio.wait([serving])
            await platform.close()


@asynccontextmanager
async def _telegram(latency: timedelta, world: Path | None, state: Path | None) -> AsyncIterator[TelegramServer]:
    """The loopback Telegram, kept in *state* while it runs and once more when it ends."""
    from tidegate.clock import SystemClock
    from tidegate.loopback.telegram import TelegramServer
    from tidegate.loopback.telegram.keeping import keep

    clock = SystemClock()
    held, port = _begin(world, state, clock)
    server = TelegramServer(held, clock, latency=latency, port=port)
    await server.start()
    keeping = asyncio.create_task(keep(server, state)) if state is not None else None
    try:
        yield server
    finally:
        if keeping is not None:
            keeping.cancel()
            await asyncio.wait([keeping])
        await server.close()


def _begin(world: Path | None, state: Path | None, clock: Clock) -> tuple[World, int]:
    """The world that was kept, else the one that was given, else the small one; and the port it had, or 0."""
    from tidegate.loopback.telegram.keeping import load
    from tidegate.loopback.telegram.making import SMALL_WORLD, make_world, read_world

    if state is not None and state.exists():
        return load(state, clock)
    return make_world(read_world(world) if world else SMALL_WORLD, clock), 0
