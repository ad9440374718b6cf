"""Progress bars of a backfill, one per channel, read from the feed: this process or a worker may do the reading."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from tidegate.core.progress_bars import ProgressBars, progress_bars

if TYPE_CHECKING:
    from tidegate.app.composition import Runtime
    from tidegate.events.event_data import EventData
    from tidegate.events.queries.feed import FeedCursor


@asynccontextmanager
async def progress(runtime: Runtime) -> AsyncIterator[None]:
    """Show the progress of backfills during the block, at a terminal only."""
    from tidegate.events.queries import feed

    with progress_bars() as bars:
        if bars is None:
            yield
            return
        async with runtime.database.connection() as connection:
            start = await feed.latest(connection)
        showing = asyncio.create_task(_show(runtime, start, bars))
        try:
            yield
        finally:
            showing.cancel()
            await asyncio.wait([showing])


async def _show(runtime: Runtime, start: FeedCursor, bars: ProgressBars) -> None:
    from tidegate.events.queries import feed

    async with aclosing(feed.follow(runtime.database, start)) as events:
        async for event in events:
            _draw(bars, event.subject, event.parsed())


def _draw(bars: ProgressBars, title: str, event: EventData | None) -> None:
    from tidegate.events.kinds.history import BackfillEnded, BackfillProgressed, ReconcileEnded

    match event:
        case BackfillProgressed():
            bars.move(event.channel, title, event.depth, event.target)
        case BackfillEnded() | ReconcileEnded():
            bars.end(event.channel, title, event.error or "done")
