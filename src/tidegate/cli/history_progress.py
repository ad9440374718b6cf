"""A bar a channel while its history is read, from the feed: the same whoever reads it, this process or a worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from tidegate.app import House


@asynccontextmanager
async def progress(house: House) -> AsyncIterator[None]:
    """Show, on a terminal alone, how far each history is that is being read inside the block."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from tidegate.store import feed

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    async with house.database.connection() as connection:
        start = await feed.latest(connection)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"))
    with Progress(*columns, console=console) as bars:
        showing = asyncio.create_task(_show(house, start, bars))
        try:
            yield
        finally:
            showing.cancel()
            await asyncio.wait([showing])


async def _show(house: House, start: Any, bars: Progress) -> None:
    from tidegate.store import feed

    known: dict[int, TaskID] = {}
    async with aclosing(feed.follow(house.database, start)) as events:
        async for event in events:
            if event.kind in ("backfill.progressed", "backfill.ended", "reconcile.ended"):
                _draw(bars, known, event.subject, dict(event.data))


def _draw(bars: Progress, known: dict[int, TaskID], title: str, told: dict[str, Any]) -> None:
    channel = told["channel"]
    if channel not in known:
        known[channel] = bars.add_task(title, total=None, note="")
    if "depth" in told:
        bars.update(known[channel], completed=told["depth"], total=told["target"], note="")
    else:
        shown = bars.tasks[known[channel]].completed
        bars.update(known[channel], total=shown or 1, completed=shown or 1, note=told["error"] or "done")
