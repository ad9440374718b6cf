"""``tidegate worker`` and ``tidegate serve``: the processes that serve accounts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from tidegate.cli import command_runner
from tidegate.cli.service.web import address_of, greet
from tidegate.core import terminal

if TYPE_CHECKING:
    from socket import socket

    from fastapi import FastAPI

    from tidegate.app.composition import Runtime


def worker() -> None:
    """Serve accounts. Run any number of workers, on any number of machines."""
    command_runner.run(_worker)


def serve() -> None:
    """Run a worker, the pages and the API in one process."""
    command_runner.run(_serve)


async def _worker() -> None:
    loaded = command_runner.loaded()  # first, because it keeps libraries out that the others would load

    from tidegate.web import listen, make_app, raise_open_file_limit

    raise_open_file_limit()
    settings = loaded.settings
    async with AsyncExitStack() as stack:
        listener = None
        if settings.worker_port is not None:
            listener = stack.enter_context(listen(settings.web_host, settings.worker_port))
        runtime = await stack.enter_async_context(command_runner.runtime(settings))
        app = make_app(runtime.database, loaded, pages=False, beside_worker=True)
        await _serve_accounts(runtime, app, listener, f"Worker {settings.worker_name} serves accounts")


async def _serve() -> None:
    loaded = command_runner.loaded()

    from tidegate.database.embedded.data_folder import only_serve_in
    from tidegate.web import listening, make_app, raise_open_file_limit

    raise_open_file_limit()
    settings = loaded.settings
    async with AsyncExitStack() as stack:
        stack.enter_context(only_serve_in(settings.home))
        listener = stack.enter_context(listening(settings))
        address = address_of(settings, listener)
        runtime = await stack.enter_async_context(command_runner.runtime(settings))
        app = make_app(runtime.database, loaded, beside_worker=True)
        await _serve_accounts(runtime, app, listener, "Tidegate serves accounts", pages=address)


async def _serve_accounts(
    runtime: Runtime, app: FastAPI, listener: socket | None, greeting: str, *, pages: str | None = None
) -> None:
    """Work until stopped, and serve *app* on *listener* meanwhile; *pages* is their address, if it has any."""
    from tidegate.app.composition import run_worker
    from tidegate.app.worker_setup import worker_setup

    # Loading the platforms' libraries takes a second or two, in which nothing would be answered.
    trade = await worker_setup(runtime, every=runtime.settings.cycle_every)
    async with command_runner.stop_signal() as end, _web(app, listener, end):
        where = f"{greeting}, and answers on {_place(listener)}" if listener else greeting
        terminal.say(f"{where}; Ctrl-C hands them over and ends it.")
        if pages is not None:
            await greet(runtime.database, pages)
        command_runner.exempt_from_collection()
        await run_worker(runtime, openers=trade.openers, work=trade.work, stop=end, handlers=trade.handlers)


def _place(listener: socket) -> str:
    """Where it listens: an address and port, or a Unix socket."""
    bound = listener.getsockname()
    return f"the socket {bound}" if isinstance(bound, str) else "http://{}:{}".format(*bound[:2])


@asynccontextmanager
async def _web(app: FastAPI, listener: socket | None, end: asyncio.Event) -> AsyncIterator[None]:
    """The web server beside the work; if it fails, the work ends in order and the error is raised."""
    from tidegate.web import serve_web

    if listener is None:
        yield
        return
    web = asyncio.create_task(serve_web(app, listener))
    web.add_done_callback(lambda _: end.set())
    try:
        yield
    finally:
        web.cancel()
        await asyncio.wait([web])
    if not web.cancelled():
        web.result()
