"""Whether a failed archive may be retried, and when (seed 000).

A failure is fetched by its message's id, so a retry never moves a watermark and never reads a good archive twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from tidegate.core.account import AccountState
from tidegate.core.ids import MessageId
from tidegate.core.platform_call import IDS_A_CALL

LONGEST_PAUSE = timedelta(days=7)
"""A failure is never paused for longer, however many tries an operator allows."""


FIRST_LOOK, LAST_LOOK = timedelta(minutes=10), timedelta(hours=6)


class FailureReason(StrEnum):
    """Why an archive could not be processed; the operator retries by these words.

    A password or a damaged header does not count as a failure: such an archive is kept and flagged.
    """

    DOWNLOAD = "download"
    UPLOAD = "upload"
    COPY = "copy"
    INDEXING = "indexing"
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
    FailureReason.SIZE_LIMIT: "It is larger than the size limit; it is tried again once the limit is raised.",
    FailureReason.SOURCE_GONE: "Its message no longer exists.",
}


@dataclass(frozen=True, slots=True)
class RetryPolicy:
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
class ArchiveFailure:
    """An archive that could not be processed. ``attempts`` counts since a person last asked; ``size`` is in bytes."""

    message: MessageId
    reason: FailureReason
    attempts: int
    next_try_at: datetime
    size: int = 0
    by_hand: bool = False


class FailureState(StrEnum):
    """What happens to a failure next."""

    DUE = "due: tried in this cycle"
    WAITING = "waiting for its next try"
    HELD = "held until the size limit is raised"
    GIVEN_UP = "given up: a person may ask for another try"
    CLOSED = "closed: there is nothing left to try"


def state_of(failure: ArchiveFailure, policy: RetryPolicy, now: datetime) -> FailureState:
    """Whether a failure is due, and if not, what it waits for.

    The operator's request comes before the cap, the pause and the size limit. What is too large is due as soon as the
    limit allows it, however often it was tried. A next try further ahead than its pause proves that the clock went
    back, and does not delay it.
    """
    if failure.reason is FailureReason.SOURCE_GONE:
        return FailureState.CLOSED
    if failure.by_hand:
        return FailureState.DUE
    if failure.reason is FailureReason.SIZE_LIMIT:
        fits = policy.size_limit is None or failure.size <= policy.size_limit
        return FailureState.DUE if fits else FailureState.HELD
    if failure.attempts >= policy.cap:
        return FailureState.GIVEN_UP
    rests = timedelta() < failure.next_try_at - now <= pause_after(failure.attempts, policy)
    return FailureState.WAITING if rests else FailureState.DUE


def due_at(failure: ArchiveFailure, policy: RetryPolicy, *, now: datetime, cycle_ended: datetime) -> datetime | None:
    """When a failure is retried; None when only the operator or another limit brings a retry.

    The second try is made in the next cycle. So is one that the last cycle could not make: an interval after it, even
    where a quiet account has longer intervals. What the operator asked for since is due at once.
    """
    state = state_of(failure, policy, now)
    if state not in {FailureState.DUE, FailureState.WAITING}:
        return None
    if state is FailureState.WAITING:
        return failure.next_try_at
    since = cycle_ended < failure.next_try_at <= now
    if since and (failure.by_hand or failure.attempts > 1):
        return failure.next_try_at
    return min(cycle_ended, now) + policy.cycle_interval


@dataclass(frozen=True, slots=True)
class Outlook:
    """What decides whether a channel's archives are worked on automatically, and when.

    *account* is the state of the account that reads the channel, None where there is none. *next_cycle_at* is when a
    worker makes its next cycle, as far as that is known. Until *parked_until* the platform rate limits the channel.
    """

    enabled: bool
    account: AccountState | None
    served: bool
    next_cycle_at: datetime | None
    parked_until: datetime | None

    @property
    def obstacle(self) -> str | None:
        """What a person has to change before any cycle works on them; None when nothing has to be changed."""
        if not self.enabled:
            return "its channel, which is no longer mirrored (tidegate channel enable CHANNEL)"
        if self.account is None:
            return "an account that can read its channel (tidegate channel show CHANNEL)"
        if self.account is not AccountState.ACTIVE:
            state = self.account.value.replace("_", " ")
            return f"the account that reads its channel, which is {state}: {self.account.next_action}"
        return None


def foresee_try(
    failure: ArchiveFailure, outlook: Outlook, *, given_up: bool, now: datetime
) -> tuple[datetime | None, str | None]:
    """When a failed archive will be retried, and what it waits for before that.

    The try is made in a cycle of its account. There is no time where no retry is automatic. Without a worker there is
    only the end of the pause, before which no worker would try it.
    """
    if given_up:
        return None, "a person, since it used up its tries (tidegate archive retry ID)"
    if failure.reason is FailureReason.SIZE_LIMIT and not failure.by_hand:
        return None, "a higher limit (archive_size_limit), or a person (tidegate archive retry ID)"
    if outlook.obstacle is not None:
        return None, outlook.obstacle
    if not outlook.served:
        rests = failure.next_try_at > now
        return failure.next_try_at if rests else None, "a worker, for none serves the account that reads its channel"
    known = (failure.next_try_at, outlook.next_cycle_at, outlook.parked_until)
    return max(now, *(at for at in known if at is not None)), None


def keeps_awake(failure: ArchiveFailure, policy: RetryPolicy, now: datetime) -> bool:
    """Whether its place cannot be idle: a retry may succeed. One that waits for the operator or a limit may not."""
    return state_of(failure, policy, now) in {FailureState.DUE, FailureState.WAITING}


def is_too_large(size: int, policy: RetryPolicy, earlier: ArchiveFailure | None) -> bool:
    """Whether an archive is above the operator's limit; never one that the operator asked for."""
    by_hand = earlier is not None and earlier.by_hand
    return policy.size_limit is not None and size > policy.size_limit and not by_hand


def pause_after(attempts: int, policy: RetryPolicy) -> timedelta:
    """How long a failure pauses: none after the first try, then 2, 4, 8 … cycles."""
    if attempts <= 1:
        return timedelta()
    cycles = 1 << min(attempts - 1, 16)
    return min(cycles * policy.cycle_interval, LONGEST_PAUSE)


def fail(
    earlier: ArchiveFailure | None,
    *,
    message: MessageId,
    reason: FailureReason,
    size: int,
    policy: RetryPolicy,
    now: datetime,
) -> ArchiveFailure:
    """The record after one more failed try; *earlier* is the record before it, None for the first time.

    A rate limit or an expired reference does not count as a try. Neither does being too large, nor a try before its
    time, which only a clock that went back causes.
    """
    before = earlier.attempts if earlier else 0
    too_early = earlier is not None and not earlier.by_hand and now < earlier.next_try_at
    attempts = before if too_early or reason is FailureReason.SIZE_LIMIT else before + 1
    return ArchiveFailure(message, reason, attempts, now + pause_after(attempts, policy), size)


def after_jump(failure: ArchiveFailure, policy: RetryPolicy, *, now: datetime, jump: timedelta) -> datetime:
    """The next try once the clock has jumped by *jump* to *now*: a pause is a span, and moves with the clock.

    One that was set after the jump stays as it is: it would pause for longer than allowed, or for less. Where that
    cannot be known, the longer pause is right, because a try too early may be the last.
    """
    latest = now + pause_after(failure.attempts, policy)
    moved = failure.next_try_at + jump
    if jump < timedelta():
        return moved if failure.next_try_at > latest else failure.next_try_at
    return failure.next_try_at if moved > latest else moved


def ask_by_hand(failure: ArchiveFailure, now: datetime) -> ArchiveFailure:
    """The operator wants another try: it is due now, and has all its tries again."""
    if failure.reason is FailureReason.SOURCE_GONE:
        return failure
    return replace(failure, attempts=0, next_try_at=now, by_hand=True)


def look_after(looks: int) -> timedelta:
    """How long until a closed destination is checked again, after *looks* checks: 10 min, then doubling."""
    return min(FIRST_LOOK * (1 << min(looks, 10)), LAST_LOOK)


def batches(messages: Iterable[MessageId]) -> list[Sequence[MessageId]]:
    """Message ids in batches as calls fetch them: each once, in order."""
    ids = sorted(set(messages))
    return [ids[start : start + IDS_A_CALL] for start in range(0, len(ids), IDS_A_CALL)]


def calls_to_retry(failures: int) -> int:
    """How many calls fetch this number of failures of one channel."""
    return -(-failures // IDS_A_CALL)
