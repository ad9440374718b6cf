"""``tidegate web``: the pages and the API alone; workers run elsewhere."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import shell

if TYPE_CHECKING:
    from tidegate.settings import Settings
    from tidegate.store.database import Database


def web(
    *,
    sign_in_link: Annotated[
        bool, typer.Option("--sign-in-link", help="Only make a new one-time sign-in link, print it, and end.")
    ] = False,
) -> None:
    """Serve the pages and the API alone; workers run elsewhere."""
    shell.run(_print_link if sign_in_link else _web)


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
            shell.say(f"The pages are on {address_of(settings, host, port)}; Ctrl-C ends it.")
            await greet(house.database, address_of(settings, host, port))
            await end.wait()
            for task in tasks:
                task.cancel()


async def _print_link() -> None:
    """For whoever is locked out: only somebody on this machine can make one."""
    from tidegate.store import sign_ins

    settings = shell.settings()
    async with shell.house(settings) as house, house.database.transaction() as connection:
        secret = await sign_ins.make_link(connection)
    print(link(address_of(settings, settings.web_host, settings.web_port), secret))
    shell.say("It signs you in once, within a day, and lets you choose a new password.")


async def greet(database: Database, address: str) -> None:
    """While there is no password, say how to sign in; each start makes the link anew."""
    from tidegate.store import sign_ins

    async with database.transaction() as connection:
        if await sign_ins.password_hash(connection) is not None:
            return
        secret = await sign_ins.make_link(connection)
    shell.say(f"Sign in, once, and choose a password: {link(address, secret)}")


def link(address: str, secret: str) -> str:
    """A one-time sign-in link."""
    return f"{address}/sign-in?once={secret}"


def address_of(settings: Settings, host: str, port: int) -> str:
    """Where a person's browser finds the pages."""
    if settings.web_url is not None:
        return settings.web_url.rstrip("/")
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
