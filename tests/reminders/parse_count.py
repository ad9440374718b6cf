"""How often a reminder's document is parsed, counted by watching the one function that does it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from tidegate.reminders.reminder_parser import as_reminder


class ParseCount:
    """How many documents this thread has parsed since it was last asked."""

    def __init__(self) -> None:
        self._count = 0

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        self._count += event == "call" and frame.f_code is as_reminder.__code__

    def since_last(self) -> int:
        counted, self._count = self._count, 0
        return counted


@contextmanager
def counted_parses() -> Iterator[ParseCount]:
    """Count what is parsed inside, without replacing anything."""
    count = ParseCount()
    before = sys.getprofile()
    sys.setprofile(count.note)
    try:
        yield count
    finally:
        sys.setprofile(before)
