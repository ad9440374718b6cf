"""Waiting for what another task, process or platform does: looked at again and again, under a deadline."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

PATIENCE = 120.0
LOOK_EVERY = 0.02


async def until(condition: Callable[[], object], *, within: float = PATIENCE) -> Any:
    """Come back with what *condition*, plain or awaited, says as soon as that is a yes; else ``TimeoutError``."""
    async with asyncio.timeout(within):
        while True:
            said = condition()
            if found := await said if inspect.isawaitable(said) else said:
                return found
            await asyncio.sleep(LOOK_EVERY)
