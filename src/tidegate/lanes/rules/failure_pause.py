"""How long an account sends nothing after several failed sends in a row."""

from __future__ import annotations

from datetime import timedelta

FAILURES = 3
"""After so many failures in a row, the platform is at fault and not the group they were for."""

SHORTEST, LONGEST = timedelta(seconds=30), timedelta(minutes=10)


def rest_after(failures: int) -> timedelta | None:
    """How long to send nothing after that many failures in a row; None to continue at once.

    Each further failure, which is one try after a pause, doubles the pause.
    """
    if failures < FAILURES:
        return None
    doublings: int = min(failures - FAILURES, 10)
    return min(SHORTEST * (1 << doublings), LONGEST)
