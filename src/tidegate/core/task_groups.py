"""Running jobs concurrently: each item, all, the first, or beside a block."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


async def each(items: Iterable[T], do: Callable[[T], Awaitable[None]], *, at_once: int) -> None:
    """Do something with each item, *at_once* at a time and begun in order.

    The first failure ends the others before it is raised, so nothing keeps running unnoticed.
    """
    todo = iter(items)

    async def work() -> None:
        for item in todo:
            await do(item)

    await together(*(work() for _ in range(at_once)))


async def together(*jobs: Coroutine[Any, Any, None]) -> None:
    """Run jobs until all are done; the first failure ends the others before it is raised."""
    async with beside(*jobs) as tasks:
        for ended in asyncio.as_completed(tasks):
            await ended


async def first_of(*jobs: Coroutine[Any, Any, object]) -> None:
    """Run jobs until one is done; the others are cancelled, and its failure is raised."""
    async with beside(*jobs) as tasks:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()


@asynccontextmanager
async def beside(*jobs: Coroutine[Any, Any, T]) -> AsyncIterator[list[asyncio.Task[T]]]:
    """Run jobs for the duration of the block; a failure is raised where its task is awaited.

    At the end they are cancelled once and awaited, even if this task is cancelled again. A second cancellation would
    interrupt their cleanup, such as a rollback.
    """
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await _undisturbed(asyncio.gather(*tasks, return_exceptions=True))


async def _undisturbed(ending: asyncio.Future[Any]) -> None:
    """Wait for *ending*; a cancellation that comes meanwhile is raised afterwards."""
    cancelled: asyncio.CancelledError | None = None
    while not ending.done():
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError as again:
            cancelled = again
    if cancelled is not None:
        raise cancelled
