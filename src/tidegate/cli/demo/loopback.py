"""``tidegate loopback``: platforms on 127.0.0.1 to try Tidegate against, in a process of their own."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import command_runner
from tidegate.core import terminal

if TYPE_CHECKING:
    from tidegate.core.clock import Clock
    from tidegate.loopback.world_document import Loaded


def loopback(
    port: Annotated[int, typer.Option(metavar="N", help="Port of the control address; 0 picks a free one.")] = 0,
    latency_ms: Annotated[int, typer.Option(min=0, metavar="N", help="Delay of every call, in milliseconds.")] = 0,
    world: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The initial world, as described in docs/loopback.md.")
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Save the world to this file, and resume from it after a restart."),
    ] = None,
) -> None:
    """Run the loopback platforms until stopped. Prints one JSON line when they are ready.

    They count every call and keep every message they receive. Nothing leaves this machine.
    """
    command_runner.run(_loopback(port, timedelta(milliseconds=latency_ms), world, state))


async def _loopback(port: int, latency: timedelta, world: Path | None, state: Path | None) -> None:
    from tidegate.core.clock import SystemClock
    from tidegate.core.task_groups import beside
    from tidegate.loopback.control_server import serving
    from tidegate.loopback.counting_platform import CountingPlatform
    from tidegate.loopback.platform_set import Platforms
    from tidegate.loopback.world_file import keep

    clock = SystemClock()
    platforms = Platforms.of(_worlds(world, state, clock), clock, latency=latency)
    counting = CountingPlatform(clock, latency=latency)
    async with AsyncExitStack() as stack:
        address = await counting.start()
        stack.push_async_callback(counting.close)
        control = await stack.enter_async_context(serving(platforms, counting, address, port=port))
        if state is not None:
            await stack.enter_async_context(beside(keep(state, platforms)))
        end = await stack.enter_async_context(command_runner.stop_signal())
        terminal.print_json_line({"control": control, "counting": address, **platforms.addresses})
        await end.wait()


def _worlds(world: Path | None, state: Path | None, clock: Clock) -> Loaded:
    """The saved worlds with their ports; else those of the given file, else the small one."""
    from tidegate.loopback.world_document import SMALL_WORLD, load_worlds, make_worlds, read_world

    if state is not None and state.exists():
        return load_worlds(state, clock)
    return make_worlds(read_world(world) if world else SMALL_WORLD, clock)
