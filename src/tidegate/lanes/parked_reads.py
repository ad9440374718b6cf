"""Which waits the lane sleeps through inside a call, and which it raises to the caller."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta

SHORT_WAIT = timedelta(seconds=5)
"""The lane itself sleeps through a wait up to this long."""

_longest: ContextVar[timedelta | None] = ContextVar("longest_wait_slept_through", default=None)


@contextmanager
def parking_long_waits(longer_than: timedelta | None = None) -> Iterator[None]:
    """Within the block, a read that would wait *longer_than* that, or ``SHORT_WAIT``, raises ``LongWait``.

    It makes no call then. For work that others queue behind: a cycle, one part of a history, a command. Tasks started
    in the block inherit it. A wait of the whole account is still slept through, because no other call could be made.
    """
    token = _longest.set(SHORT_WAIT if longer_than is None else longer_than)
    try:
        yield
    finally:
        _longest.reset(token)


def is_too_long(seconds: float) -> bool:
    """Whether a wait of so many *seconds* is raised to the caller instead of slept through."""
    longest = _longest.get()
    return longest is not None and seconds > longest.total_seconds()
