"""Memory of a process that runs for months: what it never needs is not loaded, and what it has freed is given back."""

from __future__ import annotations

import asyncio
import ctypes
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import NoReturn

from tidegate.core.clock import Clock

_EVERY = timedelta(minutes=1)


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Libraries that are loaded in the block find these missing: they use them if they happen to be installed."""
    absent = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]  # None is how Python spells it
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


async def give_back(clock: Clock, renew_sessions: Callable[[], Awaitable[None]]) -> NoReturn:
    """Give memory back once a minute: what the C library keeps although it is free, and what database sessions hold."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    while True:
        await clock.sleep(_EVERY)
        await renew_sessions()
        if trim is not None:
            await asyncio.to_thread(trim, 0)
