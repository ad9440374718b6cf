"""The states of a part of a run, the changes it may make, and the state of its target (seed 002)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

P = TypeVar("P")


class SendState(StrEnum):
    """What is known of one message to one target, or of the target: see ``target_state``.

    UNKNOWN: it was sent to the platform, and it is not known whether it arrived.
    """

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


MOVES: Mapping[SendState, frozenset[SendState]] = {
    # Unknown when a doubtful try is so old that the platform would not recognise a repeat any more.
    SendState.PENDING: frozenset({SendState.SENDING, SendState.SKIPPED, SendState.FAILED, SendState.UNKNOWN}),
    # Back to pending only where nothing was sent for certain, or where the platform removes duplicates.
    SendState.SENDING: frozenset({SendState.SENT, SendState.FAILED, SendState.PENDING, SendState.UNKNOWN}),
    # By an arrival notice, by the operator's policy, or by a person's decision.
    SendState.UNKNOWN: frozenset({SendState.SENT, SendState.PENDING, SendState.SKIPPED}),
    SendState.SENT: frozenset(),
    SendState.FAILED: frozenset(),
    SendState.SKIPPED: frozenset(),
}
"""All changes a part may make. A sent part stays sent."""


_RANKED = (SendState.SENDING, SendState.UNKNOWN, SendState.FAILED, SendState.PENDING, SendState.SKIPPED)


def target_state(parts: Collection[SendState]) -> SendState:
    """A target is sent when all its parts are; otherwise it has the state of the part that needs most attention."""
    if not parts:
        raise ValueError("a target has at least one part")
    for state in _RANKED:
        if state in parts:
            return state
    return SendState.SENT


def next_run_part(parts: Iterable[SendState]) -> int | None:
    """Which of a target's parts, in order, may be claimed now; None when the target has to wait or is done.

    Parts are sent in order, so one that is being sent, unknown or failed holds back those after it.
    """
    for place, state in enumerate(parts):
        if state is SendState.PENDING:
            return place
        if state is not SendState.SENT:
            return None
    return None


class WhenUnknown(StrEnum):
    """What the operator wants done with a part whose outcome is unknown."""

    HOLD = "hold"
    ASSUME_SENT = "assume_sent"
    RESEND = "resend"

    @property
    def resolves_to(self) -> SendState | None:
        """The state the part gets by itself; None when it waits for an arrival or a person."""
        return {WhenUnknown.ASSUME_SENT: SendState.SENT, WhenUnknown.RESEND: SendState.PENDING}.get(self)


def arrived_run_part(message: str, handed_over: Mapping[P, Collection[str]]) -> P | None:
    """Which part an arrival of *message* is about: the only one that was sent under that name.

    *handed_over* has the names of each doubtful part. Nothing is inferred from the time, or from there being one part
    only: a person may write to the same group from the phone, and other runs have messages there too.
    """
    meant = [part for part, names in handed_over.items() if message in names]
    return meant[0] if len(meant) == 1 else None


def after_crash(*, removes_duplicates: bool, for_how_long: timedelta | None, claimed_ago: timedelta) -> SendState:
    """The state of a part that was being sent when its worker died: it is resent only where that is harmless.

    *for_how_long* is None for a platform that always recognises a repeated send.

    Invariant: claim-before-send.
    """
    fresh = for_how_long is None or timedelta() <= claimed_ago < for_how_long
    return SendState.PENDING if removes_duplicates and fresh else SendState.UNKNOWN
