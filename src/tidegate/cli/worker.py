"""``tidegate worker`` and ``tidegate serve``: the processes that serve accounts."""

from __future__ import annotations

import asyncio
import fcntl
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.cli import shell
from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from tidegate.app import House


def worker() -> None:
    """Serve accounts; run as many workers as you like, on as many machines."""
    shell.run(_worker)


def serve() -> None:
    """Everything in one process: a worker and the web floor."""
    shell.run(_serve)


async def _worker() -> None:
    async with shell.house() as house, shell.told_to_end() as end:
        shell.say(f"Worker {house.settings.worker_name} serves accounts; Ctrl-C hands them over and ends it.")
        await _serve_accounts(house, end)


async def _serve() -> None:
    from tidegate.web import listen, make_app, serve_web

    settings = shell.settings()
    async with AsyncExitStack() as stack:
        stack.enter_context(_alone_in(settings.home))
        listener = stack.enter_context(listen(settings.web_host, settings.web_port))
        house = await stack.enter_async_context(shell.house(settings))
        end = await stack.enter_async_context(shell.told_to_end())
        web = asyncio.create_task(serve_web(make_app(house.database), listener))
        web.add_done_callback(lambda _: end.set())
        host, port = listener.getsockname()[:2]
        shell.say(f"Tidegate serves accounts, and answers on http://{host}:{port}; Ctrl-C ends it in order.")
        try:
            await _serve_accounts(house, end)
        finally:
            web.cancel()
            await asyncio.wait([web])


@contextmanager
def _alone_in(home: Path) -> Iterator[None]:
    """Refuse a second ``serve`` in one data folder: more workers are welcome, a second web floor is a slip."""
    from tidegate.store.folder import make_home

    make_home(home)
    with (home / "serve.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TidegateError(
                f"Another tidegate serve is running in the data folder {home}. "
                "To add a worker beside it, run: tidegate worker"
            ) from None
        yield


async def _serve_accounts(house: House, end: asyncio.Event) -> None:
    from tidegate.app import run_worker
    from tidegate.loopback.work import look_now_and_then, openers

    await run_worker(house, openers=openers(), work=look_now_and_then, stop=end)
