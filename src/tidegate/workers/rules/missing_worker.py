"""How a missing worker ended, and so when its accounts may be taken over (one-owner-per-account)."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum


class WorkerEnding(StrEnum):
    """Why a worker no longer serves accounts; only a proven death frees a sign-in that must not be used twice."""

    LEFT = "left"
    DIED = "died"
    SILENT = "silent"


def ending_of(
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
