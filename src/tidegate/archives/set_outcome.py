"""How work on a set ended."""

from __future__ import annotations

from enum import Enum, auto


class SetOutcome(Enum):
    """How work on a set ended, which decides whether the next one is worth a try.

    A set that was LEFT or CHANGED, or has no readable source, waits with all its tries. IN_TROUBLE: the platform gave
    no definite answer, so the next set would most likely fail as well.
    """

    INDEXED = auto()
    REOPENED = auto()
    FILED = auto()
    DUPLICATE = auto()
    LEFT = auto()
    CHANGED = auto()
    WITHOUT_SOURCE = auto()
    WITHOUT_PROCESS = auto()
    FAILED = auto()
    IN_TROUBLE = auto()
