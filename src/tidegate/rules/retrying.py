"""May a failed archive be tried again, and when (seed 000).

A failure is fetched by its message's id, so trying again never moves a watermark and never reads a good archive twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

IDS_A_CALL = 100
"""How many messages one call fetches by their ids."""

LONGEST_PAUSE = timedelta(days=7)
"""However many tries an operator allows, a failure is never out of reach for longer."""


class FailureReason(StrEnum):
    """Why an archive could not be processed; the operator retries by these words.

    A password or a damaged header is none of them: such an archive is kept and flagged.
    """

    DOWNLOAD = "download"
    UPLOAD = "upload"
    COPY = "copy"
    INDEXING = "indexing"
    DISK_FULL = "disk_full"
    SIZE_LIMIT = "size_limit"
    SOURCE_GONE = "source_gone"

    @property
    def sentence(self) -> str:
        """What a person reads."""
        return _SENTENCES[self]


_SENTENCES = {
    FailureReason.DOWNLOAD: "The file did not arrive whole.",
    FailureReason.UPLOAD: "The upload to the destination did not succeed.",
    FailureReason.COPY: "The platform did not copy the file to the destination.",
    FailureReason.INDEXING: "Reading the list of contents took too much time or memory.",
    FailureReason.DISK_FULL: "There was not enough free disk space to work on it.",
    FailureReason.SIZE_LIMIT: "It is larger than the size limit; it is tried again once the limit is raised.",
    FailureReason.SOURCE_GONE: "Its message no longer exists.",
}


class FailureState(StrEnum):
    """What becomes of a failure next."""

    DUE = "due: tried in this cycle"
    WAITING = "waiting for its next try"
    HELD = "held until the size limit is raised"
    GIVEN_UP = "given up: a person may ask for another try"
    CLOSED = "closed: there is nothing left to try"


@dataclass(frozen=True, slots=True)
class RetryHabits:
    """How often a failure is tried before it waits for a person, and how long a cycle lasts.

    ``size_limit`` is the largest archive in bytes that is worked on; None for no limit.
    """

    cap: int = 5
    cycle_interval: timedelta = timedelta(minutes=60)
    size_limit: int | None = None

    def __post_init__(self) -> None:
        if self.cap < 1 or self.cycle_interval <= timedelta():
            raise ValueError(f"retry habits need a cap and an interval above nothing: {self}")


@dataclass(frozen=True, slots=True)
class Failure:
    """An archive that could not be processed. ``attempts`` counts since a person last asked; ``size`` is in bytes."""

    message: int
    reason: FailureReason
    attempts: int
    next_try_at: datetime
    size: int = 0
    by_hand: bool = False


def state_of(failure: Failure, habits: RetryHabits, now: datetime) -> FailureState:
    """Whether a failure is due, and if not, what it waits for.

    A person's wish comes before the cap, the pause and the size limit. What is too large is due as soon as the limit
    allows it, however often it was tried. A next try further ahead than the pause that set it proves that the clock
    went back, and hides nothing.
    """
    if failure.reason is FailureReason.SOURCE_GONE:
        return FailureState.CLOSED
    if failure.by_hand:
        return FailureState.DUE
    if failure.reason is FailureReason.SIZE_LIMIT:
        fits = habits.size_limit is None or failure.size <= habits.size_limit
        return FailureState.DUE if fits else FailureState.HELD
    if failure.attempts >= habits.cap:
        return FailureState.GIVEN_UP
    rests = timedelta() < failure.next_try_at - now <= pause_after(failure.attempts, habits)
    return FailureState.WAITING if rests else FailureState.DUE


def due_at(failure: Failure, habits: RetryHabits, *, now: datetime, cycle_ended: datetime) -> datetime | None:
    """When a failure has its next try; None when nothing but a person or another limit brings one.

    The try after the first is in the next cycle, and so is one that the last cycle could not make: an interval after
    it, however long the cycles of a quiet account are apart. What a person asked for since is due at once.
    """
    state = state_of(failure, habits, now)
    if state not in {FailureState.DUE, FailureState.WAITING}:
        return None
    if state is FailureState.WAITING:
        return failure.next_try_at
    since = cycle_ended < failure.next_try_at <= now
    if since and (failure.by_hand or failure.attempts > 1):
        return failure.next_try_at
    return min(cycle_ended, now) + habits.cycle_interval


def keeps_awake(failure: Failure, habits: RetryHabits, now: datetime) -> bool:
    """Whether its place cannot be idle: it may succeed by itself. What waits for a person or a limit may not."""
    return state_of(failure, habits, now) in {FailureState.DUE, FailureState.WAITING}


def is_too_large(size: int, habits: RetryHabits, earlier: Failure | None) -> bool:
    """Whether an archive is above the operator's limit; never one that a person asked for."""
    by_hand = earlier is not None and earlier.by_hand
    return habits.size_limit is not None and size > habits.size_limit and not by_hand


def pause_after(attempts: int, habits: RetryHabits) -> timedelta:
    """How long a failure rests: the next cycle has it after the first try, then it is 2, 4, 8 … cycles."""
    if attempts <= 1:
        return timedelta()
    cycles = 1 << min(attempts - 1, 16)
    return min(cycles * habits.cycle_interval, LONGEST_PAUSE)


def fail(
    earlier: Failure | None, *, message: int, reason: FailureReason, size: int, habits: RetryHabits, now: datetime
) -> Failure:
    """The record after one more try that failed; *earlier* is the record before it, None for the first time.

    Being told to wait, or fetching an expired reference anew, is no try.
    """
    attempts = 1 + (earlier.attempts if earlier else 0)
    return Failure(message, reason, attempts, now + pause_after(attempts, habits), size)


def ask_by_hand(failure: Failure, now: datetime) -> Failure:
    """A person wants another try: due now whatever the memory says, and with all its tries before it again."""
    if failure.reason is FailureReason.SOURCE_GONE:
        return failure
    return replace(failure, attempts=0, next_try_at=now, by_hand=True)


def batches(messages: Iterable[int]) -> list[Sequence[int]]:
    """Message ids as calls fetch them: each once, in order, so many to a call."""
    ids = sorted(set(messages))
    return [ids[start : start + IDS_A_CALL] for start in range(0, len(ids), IDS_A_CALL)]


def calls_to_retry(failures: int) -> int:
    """How many calls fetch so many failures of one channel."""
    return -(-failures // IDS_A_CALL)
