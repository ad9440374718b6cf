"""What push updates prove: only an unbroken sequence moves the progress.

Invariant: live-never-closes-a-gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class SequenceStep(NamedTuple):
    """The position of one update in the platform's own counting: it leads up to *upto*, by *by* steps.

    None where the platform does not say.
    """

    upto: int | None
    by: int | None


class SequenceOrder(StrEnum):
    """How an update relates to what is known."""

    NEXT = "it follows on what is known"
    OLD = "it is known already"
    APART = "something before it is missing, or nobody knows"


@dataclass(frozen=True, slots=True)
class FollowedSequence:
    """What became of several updates, each named by its index.

    Those in neither list were known already: storing them again could restore what was deleted since.
    """

    known: int | None  # the counter after them
    linked: tuple[int, ...]  # these lead up to *known* without a break, in this order
    apart: tuple[int, ...]  # these are to be stored, and prove nothing


def order_of(known: int | None, step: SequenceStep) -> SequenceOrder:
    """How an update relates to a counter that is *known*; None when there is none yet."""
    if known is None or step.upto is None or step.by is None:
        return SequenceOrder.APART
    if step.upto - step.by == known:
        return SequenceOrder.NEXT
    return SequenceOrder.OLD if step.upto <= known else SequenceOrder.APART


def follow(known: int | None, steps: Sequence[SequenceStep]) -> FollowedSequence:
    """Follow a sequence as far as it is unbroken, in whatever order its updates came."""
    linked: list[int] = []
    apart: list[int] = []
    for place in sorted(range(len(steps)), key=lambda one: (steps[one].upto is None, steps[one].upto or 0)):
        order = order_of(known, steps[place])
        if order is SequenceOrder.NEXT:
            known = steps[place].upto
            linked.append(place)
        elif order is SequenceOrder.APART:
            apart.append(place)
    return FollowedSequence(known, tuple(linked), tuple(apart))
