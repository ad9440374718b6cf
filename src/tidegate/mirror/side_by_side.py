"""Several pieces of one job at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import TypeVar

T = TypeVar("T")


async def each(items: Iterable[T], do: Callable[[T], Awaitable[None]], *, at_once: int) -> None:
    """Do something with each item, so many at once and begun in order.

    The first failure ends the others before it is raised, so nothing goes on behind the back of whoever asked.
    """
    todo = iter(items)

    async def work() -> None:
        for item in todo:
            await do(item)

    await together(*(work() for _ in range(at_once)))


async def together(*jobs: Coroutine[None, None, None]) -> None:
    """Do several things until all are done; the first failure ends the others before it is raised."""
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
