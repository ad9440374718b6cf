"""Which moves a part of a run may make, what that means for its target, and how a run sums up (seed 002)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from tidegate.rules.window import Window


class PartState(StrEnum):
    """What is known of one message to one target. UNKNOWN: it was handed over, and nobody knows whether it arrived."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


MOVES: Mapping[PartState, frozenset[PartState]] = {
    # Unknown when a try in doubt has waited for so long that the platform would not recognise it any more.
    PartState.PENDING: frozenset({PartState.SENDING, PartState.SKIPPED, PartState.FAILED, PartState.UNKNOWN}),
    # Back to pending only where it is proven that nothing was handed over, or where the platform removes duplicates.
    PartState.SENDING: frozenset({PartState.SENT, PartState.FAILED, PartState.PENDING, PartState.UNKNOWN}),
    # By a receipt, by the operator's policy, or by a person's own word.
    PartState.UNKNOWN: frozenset({PartState.SENT, PartState.PENDING, PartState.SKIPPED}),
    PartState.SENT: frozenset(),
    PartState.FAILED: frozenset(),
    PartState.SKIPPED: frozenset(),
}
"""The moves a part may make; what is not here does not happen. A sent part stays sent, whatever comes later."""


class TargetState(StrEnum):
    """What became of a target, read off its parts."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


_RANKED = (PartState.SENDING, PartState.UNKNOWN, PartState.FAILED, PartState.PENDING, PartState.SKIPPED)


def target_state(parts: Collection[PartState]) -> TargetState:
    """A target is sent when all its parts are; otherwise the part that needs most attention speaks for it."""
    if not parts:
        raise ValueError("a target has at least one part")
    for state in _RANKED:
        if state in parts:
            return TargetState(state.value)
    return TargetState.SENT


def next_part(parts: Iterable[PartState]) -> int | None:
    """Which of a target's parts, in order, may be claimed now; None when the target has to wait or is done.

    Parts go out in order, so one that is under way, unknown or failed holds back those after it.
    """
    for place, state in enumerate(parts):
        if state is PartState.PENDING:
            return place
        if state is not PartState.SENT:
            return None
    return None


class WhenUnknown(StrEnum):
    """What the operator wants done with a part whose outcome nobody knows."""

    HOLD = "hold"
    ASSUME_SENT = "assume_sent"
    RESEND = "resend"

    @property
    def settles_as(self) -> PartState | None:
        """The state the part moves to by itself; None when it waits for a receipt or a person."""
        return {WhenUnknown.ASSUME_SENT: PartState.SENT, WhenUnknown.RESEND: PartState.PENDING}.get(self)


def after_crash(*, removes_duplicates: bool, for_how_long: timedelta | None, claimed_ago: timedelta) -> PartState:
    """What a part that was being sent when its worker died becomes: it is resent only where that is harmless (law 6).

    *for_how_long* is None for a platform that always recognises a repeated send.
    """
    fresh = for_how_long is None or timedelta() <= claimed_ago < for_how_long
    return PartState.PENDING if removes_duplicates and fresh else PartState.UNKNOWN


# How a run sums up


class RunState(StrEnum):
    """What a run does now."""

    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    NEEDS_ATTENTION = "needs_attention"
    ENDED = "ended"


class RunStatus(StrEnum):
    """How a run ended: every target sent, some, or none; or a person ended it."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Ending(StrEnum):
    """Why targets were left out."""

    ALL_TRIED = "all tried"
    WINDOW_CLOSED = "window closed"
    CANCELLED = "cancelled"


WINDOW_CLOSED = "delivery window closed"
"""The error of a target that the window shut out."""

BUSY_ENOUGH = 0.9
"""A run that used so much of what its pace allowed was short of nothing but pace."""


@dataclass(frozen=True, slots=True)
class Summary:
    """How a run ended, and the sentence about it; empty for a success."""

    status: RunStatus
    sentence: str


def sum_up(
    counts: Counter[TargetState],
    ending: Ending,
    window: Window,
    *,
    at_capacity: bool = False,
    cause: str = "",
) -> Summary:
    """How a run that is over ended, in the seed's words.

    *at_capacity* adds the advice to use another account. *cause* is a sentence about what else held the run up, such as
    a pause, for when the pace was not to blame.
    """
    sent, total = counts[TargetState.SENT], counts.total()
    delivered = f"{sent} of {total} groups delivered."
    if ending is Ending.CANCELLED:
        return Summary(RunStatus.CANCELLED, f"Cancelled. {delivered}")
    status = RunStatus.SUCCESS if sent == total else RunStatus.PARTIAL if sent else RunStatus.FAILED
    if status is RunStatus.SUCCESS:
        return Summary(status, "")
    told = [delivered]
    if counts[TargetState.FAILED]:
        told.append(f"{counts[TargetState.FAILED]} failed.")
    if ending is Ending.WINDOW_CLOSED:
        told.insert(0, f"Delivery window closed at {window.end_hour:02}:00 ({window.zone.key}).")
        if at_capacity:
            told.append(
                "This account is at capacity for this fan-out — consider sending the remainder from another paired "
                "account."
            )
        elif cause:
            told.append(cause)
    return Summary(status, " ".join(told))


def is_at_capacity(claimed: int, allowed: int) -> bool:
    """Whether the pace was what stopped a run: it made nearly all the sends that the pace allowed while it was open."""
    return claimed >= BUSY_ENOUGH * allowed and claimed > 0
