"""Waiting for what another task, process or platform does: looked at again and again, under a deadline."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable

PATIENCE = 120.0
LOOK_EVERY = 0.02


async def until(condition: Callable[[], object], *, within: float = PATIENCE) -> None:
    """Come back as soon as *condition*, plain or awaited, says yes; ``TimeoutError`` if it never does."""
    async with asyncio.timeout(within):
        while True:
            found = condition()
            if await found if inspect.isawaitable(found) else found:
                return
            await asyncio.sleep(LOOK_EVERY)
