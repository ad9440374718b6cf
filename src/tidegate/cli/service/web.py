"""``tidegate web``: the pages and the API alone; workers run elsewhere."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate.cli import command_runner
from tidegate.core import terminal
from tidegate.core.errors import BadInput

if TYPE_CHECKING:
    from socket import socket

    from tidegate.app.settings import Settings
    from tidegate.database.pool import Database


def web(
    *,
    sign_in_link: Annotated[
        bool, typer.Option("--sign-in-link", help="Print a new one-time sign-in link, and exit.")
    ] = False,
) -> None:
    """Serve the pages and the API. Workers run elsewhere."""
    command_runner.run(_print_link if sign_in_link else _web)


async def _web() -> None:
    loaded = command_runner.loaded()

    from tidegate.app.loop_lag import watch
    from tidegate.core.clock import SystemClock
    from tidegate.web import listening, make_app, raise_open_file_limit, serve_web

    raise_open_file_limit()
    settings = loaded.settings
    with listening(settings) as listener:  # first of all: a port in use starts nothing
        address = address_of(settings, listener)
        async with (
            command_runner.stop_signal() as end,
            command_runner.runtime(settings) as runtime,
            asyncio.TaskGroup() as group,
        ):
            tasks = [
                group.create_task(serve_web(make_app(runtime.database, loaded), listener)),
                group.create_task(watch(SystemClock())),
            ]
            terminal.say(f"The pages are on {address}; Ctrl-C ends it.")
            await greet(runtime.database, address)
            command_runner.exempt_from_collection()
            await end.wait()
            for task in tasks:
                task.cancel()


async def _print_link() -> None:
    """For an operator who is locked out: it needs access to this machine."""
    from tidegate.access.queries import sign_in_links

    settings = command_runner.settings()
    address = address_of(settings)
    async with command_runner.runtime(settings) as runtime, runtime.database.transaction() as connection:
        secret = await sign_in_links.make_link(connection)
    terminal.print_line(link(address, secret))
    terminal.say("It signs you in once, within a day, and lets you choose a new password.")


async def greet(database: Database, address: str) -> None:
    """While no password is set, print a sign-in link; each start makes a new one."""
    from tidegate.access.queries import operator_password, sign_in_links

    async with database.transaction() as connection:
        if await operator_password.password_hash(connection) is not None:
            return
        secret = await sign_in_links.make_link(connection)
    terminal.say(f"Sign in, once, and choose a password: {link(address, secret)}")


def link(address: str, secret: str) -> str:
    """A one-time sign-in link."""
    return f"{address}/sign-in?once={secret}"


def address_of(settings: Settings, listener: socket | None = None) -> str:
    """The address of the pages for a browser; *listener* knows the port that was chosen for port 0."""
    if settings.web_url is not None:
        return settings.web_url.rstrip("/")
    if settings.web_socket is not None:
        raise BadInput(
            "web_socket is set, and no browser can reach a socket. Set web_url (TIDEGATE_WEB_URL) to the address at "
            "which your proxy answers."
        )
    host, port = listener.getsockname()[:2] if listener else (settings.web_host, settings.web_port)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
