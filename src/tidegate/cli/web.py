"""``tidegate web``: the web floor alone; workers run elsewhere."""

from __future__ import annotations

import asyncio

from tidegate.cli import shell


def web() -> None:
    """Serve the web floor alone: /health, /metrics and the API."""
    shell.run(_web)


async def _web() -> None:
    from tidegate.clock import SystemClock
    from tidegate.lag import watch
    from tidegate.web import listen, make_app, serve_web

    loaded = shell.loaded()
    settings = loaded.settings
    with listen(settings.web_host, settings.web_port) as listener:  # first of all: a port in use starts nothing
        async with shell.told_to_end() as end, shell.house(settings) as house, asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(serve_web(make_app(house.database, loaded), listener)),
                group.create_task(watch(SystemClock())),
            ]
            host, port = listener.getsockname()[:2]
            shell.say(f"The web floor answers on http://{host}:{port}; Ctrl-C ends it.")
            await end.wait()
            for task in tasks:
                task.cancel()
