"""How long an account may take to connect, on every platform."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from datetime import timedelta
from typing import TypeVar

from tidegate.core.clock import Clock

CONNECT_WITHIN = timedelta(seconds=30)

T = TypeVar("T")


async def in_time(connecting: Awaitable[T], clock: Clock) -> T:
    """The result of *connecting*; ``TimeoutError`` when it takes too long, and then it is cancelled."""
    task = asyncio.ensure_future(connecting)
    over = asyncio.ensure_future(clock.sleep(CONNECT_WITHIN))
    try:
        await asyncio.wait((task, over), return_when=asyncio.FIRST_COMPLETED)
    finally:
        over.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait((task,))
    if task.cancelled():
        raise TimeoutError
    return task.result()
