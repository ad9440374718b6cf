"""Which waits the lane sleeps through inside a call, and which it raises to the caller."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta

SHORT_WAIT = timedelta(seconds=5)
"""The lane itself sleeps through a wait up to this long."""

_parks: ContextVar[bool] = ContextVar("parks_long_waits", default=False)


@contextmanager
def parking_long_waits() -> Iterator[None]:
    """Within the block, a read that would wait longer than ``SHORT_WAIT`` raises ``LongWait`` and makes no call.

    For work that others queue behind: a cycle, one part of a history, a command. Tasks started in the block inherit it.
    A wait of the whole account is still slept through, because no other call could be made.
    """
    token = _parks.set(True)
    try:
        yield
    finally:
        _parks.reset(token)


def is_too_long(seconds: float) -> bool:
    """Whether a wait of so many *seconds* is raised to the caller instead of slept through."""
    return _parks.get() and seconds > SHORT_WAIT.total_seconds()
