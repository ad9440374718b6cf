"""How accounts are spread over living workers, and how a missing worker ended (one-owner-per-account)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from tidegate.core.ids import WorkerNumber


class WorkerEnding(StrEnum):
    """Why a worker no longer serves accounts; only a proven death frees a sign-in that must not be used twice."""

    LEFT = "left"
    DIED = "died"
    SILENT = "silent"


def fair_shares(accounts: int, seats: Mapping[WorkerNumber, int]) -> dict[WorkerNumber, int]:
    """How many accounts each worker should serve: as even as its seats allow, the remainder to the lowest numbers.

    Every worker computes this for itself, so it depends only on what all of them see.
    """
    left, waiting = accounts, sorted(seats, key=lambda number: seats[number])
    shares: dict[WorkerNumber, int] = {}
    while waiting and seats[waiting[0]] <= left // len(waiting):
        full = waiting.pop(0)
        shares[full] = seats[full]
        left -= seats[full]
    for rank, number in enumerate(sorted(waiting)):
        shares[number] = left // len(waiting) + (rank < left % len(waiting))
    return shares


def judge(
    *, beat_at: datetime, time_out: timedelta, process_gone: bool, session_open: bool, now: datetime
) -> WorkerEnding | None:
    """How a worker whose lock is free ended; None when it may be back in a moment.

    The server frees a silent worker's lock only one whole time-out after its last heartbeat. A lock freed sooner ended
    with its process, or with its connection. In the second case the worker's other session, *session_open*, still
    exists. After the time-out, only a check of the process, on the same machine, distinguishes a dead worker from a
    silent one.
    """
    if process_gone:
        return WorkerEnding.DIED
    if not timedelta() <= now - beat_at < time_out:
        return WorkerEnding.SILENT
    return None if session_open else WorkerEnding.DIED
