"""What a run does now, how it ended, and the sentence about it (seed 002)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from tidegate.lanes.rules.send_hours import SendWindow
from tidegate.reminders.rules.send_states import SendState


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


class LeftOutReason(StrEnum):
    """Why targets were left out."""

    ALL_TRIED = "all tried"
    WINDOW_CLOSED = "window closed"
    CANCELLED = "cancelled"


WINDOW_CLOSED = "delivery window closed"
"""The error of a target that was not reached before the window closed."""

BUSY_ENOUGH = 0.9
"""A run that used this share of what its pace allowed was limited by the pace."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How a run ended, and the sentence about it; empty for a success."""

    status: RunStatus
    sentence: str


def sum_up(
    counts: Counter[SendState],
    ending: LeftOutReason,
    window: SendWindow,
    *,
    at_capacity: bool = False,
    cause: str = "",
) -> RunSummary:
    """How a run ended, in the seed's words.

    *at_capacity* adds the advice to use another account. *cause* is a sentence about what else held the run up, such as
    a pause, where the pace was not the reason.
    """
    sent, total = counts[SendState.SENT], counts.total()
    delivered = f"{sent} of {total} groups delivered."
    if ending is LeftOutReason.CANCELLED:
        return RunSummary(RunStatus.CANCELLED, f"Cancelled. {delivered}")
    status = RunStatus.SUCCESS if sent == total else RunStatus.PARTIAL if sent else RunStatus.FAILED
    if status is RunStatus.SUCCESS:
        return RunSummary(status, "")
    sentences = [delivered]
    if counts[SendState.FAILED]:
        sentences.append(f"{counts[SendState.FAILED]} failed.")
    if ending is LeftOutReason.WINDOW_CLOSED:
        sentences.insert(0, f"Delivery window closed at {window.end_hour:02}:00 ({window.zone.key}).")
        if at_capacity:
            sentences.append(
                "This account is at capacity for this fan-out — consider sending the remainder from another paired "
                "account."
            )
        elif cause:
            sentences.append(cause)
    return RunSummary(status, " ".join(sentences))


def is_at_capacity(claimed: int, allowed: int) -> bool:
    """Whether the pace limited a run: it made nearly all the sends that the pace allowed while its window was open."""
    return claimed >= BUSY_ENOUGH * allowed and claimed > 0
