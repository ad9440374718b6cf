"""``tidegate worker`` and ``tidegate serve``: the processes that serve accounts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from tidegate.cli import shell
from tidegate.cli.web import address_of, greet

if TYPE_CHECKING:
    from socket import socket

    from fastapi import FastAPI

    from tidegate.app import House


def worker() -> None:
    """Serve accounts; run as many workers as you like, on as many machines."""
    shell.run(_worker)


def serve() -> None:
    """Everything in one process: a worker, the pages and the API."""
    shell.run(_serve)


async def _worker() -> None:
    from tidegate.web import listen, make_app

    loaded = shell.loaded()
    settings = loaded.settings
    async with AsyncExitStack() as stack:
        listener = None
        if settings.worker_port is not None:
            listener = stack.enter_context(listen(settings.web_host, settings.worker_port))
        house = await stack.enter_async_context(shell.house(settings))
        app = make_app(house.database, loaded, pages=False)
        await _serve_accounts(house, app, listener, f"Worker {settings.worker_name} serves accounts")


async def _serve() -> None:
    from tidegate.store.folder import only_serve_in
    from tidegate.web import listen, make_app

    loaded = shell.loaded()
    settings = loaded.settings
    async with AsyncExitStack() as stack:
        stack.enter_context(only_serve_in(settings.home))
        listener = stack.enter_context(listen(settings.web_host, settings.web_port))
        house = await stack.enter_async_context(shell.house(settings))
        app = make_app(house.database, loaded)
        address = address_of(settings, *listener.getsockname()[:2])
        await _serve_accounts(house, app, listener, "Tidegate serves accounts", pages=address)


async def _serve_accounts(
    house: House, app: FastAPI, listener: socket | None, greeting: str, *, pages: str | None = None
) -> None:
    """Work until told to end, with *app* on *listener* meanwhile; *pages* is their address, if it has any."""
    from tidegate.app import run_worker
    from tidegate.mirroring import trade_of

    async with shell.told_to_end() as end, _web(app, listener, end):
        where = (
            "{}, and answers on http://{}:{}".format(greeting, *listener.getsockname()[:2]) if listener else greeting
        )
        shell.say(f"{where}; Ctrl-C hands them over and ends it.")
        if pages is not None:
            await greet(house.database, pages)
        trade = await trade_of(house, every=house.settings.cycle_every)
        await run_worker(house, openers=trade.openers, work=trade.work, stop=end, handlers=trade.handlers)


@asynccontextmanager
async def _web(app: FastAPI, listener: socket | None, end: asyncio.Event) -> AsyncIterator[None]:
    """The web floor beside the work; should it fail, the work ends in order and the failure is told."""
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
