"""When a file that failed is tried again. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

PAUSES = (
    timedelta(minutes=1),
    timedelta(minutes=10),
    timedelta(hours=1),
    timedelta(hours=6),
    timedelta(days=1),
)
"""The wait after the first, second … failed try; after the last one the operator has to ask."""


def next_try(attempts: int, now: datetime) -> datetime | None:
    """When to try again after *attempts* failed tries; None when it is given up."""
    return now + PAUSES[attempts - 1] if 0 < attempts <= len(PAUSES) else None
