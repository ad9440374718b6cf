"""``tidegate loopback``: platforms on 127.0.0.1 to try Tidegate against, in a process of their own."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import shell

if TYPE_CHECKING:
    from tidegate.clock import Clock
    from tidegate.loopback.worlds import Loaded


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
    from tidegate.loopback.control import serving
    from tidegate.loopback.counting import CountingPlatform
    from tidegate.loopback.keeping import keep
    from tidegate.loopback.platforms import Platforms
    from tidegate.side_by_side import beside

    clock = SystemClock()
    platforms = Platforms.of(_worlds(world, state, clock), clock, latency=latency)
    counting = CountingPlatform(clock, latency=latency)
    async with AsyncExitStack() as stack:
        address = await counting.start()
        stack.push_async_callback(counting.close)
        control = await stack.enter_async_context(serving(platforms, counting, address, port=port))
        if state is not None:
            await stack.enter_async_context(beside(keep(state, platforms)))
        end = await stack.enter_async_context(shell.told_to_end())
        print(json.dumps({"control": control, "counting": address, **platforms.addresses}), flush=True)
        await end.wait()


def _worlds(world: Path | None, state: Path | None, clock: Clock) -> Loaded:
    """The worlds that were kept, with the ports they had; else those that were given, else the small one."""
    from tidegate.loopback.worlds import SMALL_WORLD, load_worlds, make_worlds, read_world

    if state is not None and state.exists():
        return load_worlds(state, clock)
    return make_worlds(read_world(world) if world else SMALL_WORLD, clock)
