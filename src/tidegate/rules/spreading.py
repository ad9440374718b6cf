"""How accounts spread over the workers alive, and how a worker that is gone ended (law 8)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from tidegate.words import WorkerNumber


class Ending(StrEnum):
    """Why a worker serves nobody any more; only a proven death frees a sign-in that no two may use."""

    LEFT = "left"
    DIED = "died"
    SILENT = "silent"


def fair_shares(accounts: int, seats: Mapping[WorkerNumber, int]) -> dict[WorkerNumber, int]:
    """How many accounts each worker should serve: as even as its seats allow, the odd ones to the lowest numbers.

    Every worker computes this for itself, so it depends on nothing but what all of them see.
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
) -> Ending | None:
    """How a worker whose lock is gone ended; None when it may be back in a moment.

    The server frees a silent worker's lock only a whole time-out after its last beat, so a lock that ended sooner
    ended with its process, or with its connection: then the worker's other session, *session_open*, is still there.
    Later than that, only a look at the process itself, on the same machine, can tell a dead worker from a silent one.
    """
    if process_gone:
        return Ending.DIED
    if not timedelta() <= now - beat_at < time_out:
        return Ending.SILENT
    return None if session_open else Ending.DIED
