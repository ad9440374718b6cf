"""Which reads are made in the background, so that they never delay push updates, cycles and sends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_in_background: ContextVar[bool] = ContextVar("reads_in_background", default=False)


@contextmanager
def reading_in_background() -> Iterator[None]:
    """Within the block, every read gives way to those outside. Tasks started in the block inherit it."""
    token = _in_background.set(True)
    try:
        yield
    finally:
        _in_background.reset(token)


def is_in_background() -> bool:
    return _in_background.get()
