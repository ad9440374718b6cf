"""``tidegate loopback``: a platform on 127.0.0.1 to try Tidegate against, in a process of its own."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Annotated

import typer

from tidegate.cli import shell


def loopback(
    port: Annotated[int, typer.Option(help="The control address's port; 0 takes a free one.")] = 0,
    latency_ms: Annotated[int, typer.Option(min=0, help="How long every call takes.")] = 0,
) -> None:
    """Run the loopback platform until ended; prints one JSON line when it is ready.

    It counts every call and keeps every message it was sent. Nothing leaves this machine.
    """
    shell.run(_loopback(port, timedelta(milliseconds=latency_ms)))


async def _loopback(port: int, latency: timedelta) -> None:
    from tidegate.clock import SystemClock
    from tidegate.loopback.control import make_control
    from tidegate.loopback.counting import CountingPlatform
    from tidegate.web import listen, serve_web

    with listen("127.0.0.1", port) as listener:
        platform = CountingPlatform(SystemClock(), latency=latency)
        address = await platform.start()
        serving = asyncio.create_task(serve_web(make_control(platform, address), listener))
        control = "http://{}:{}".format(*listener.getsockname()[:2])
        print(json.dumps({"control": control, "counting": address}), flush=True)
        async with shell.told_to_end() as end:
            await end.wait()
        serving.cancel()
        await asyncio.wait([serving])
        await platform.close()
