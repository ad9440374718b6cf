"""What news proves that a platform tells by itself (law 4): only an unbroken sequence moves anything on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Step(NamedTuple):
    """Where one piece of news stands in the platform's own counting: it leads up to *upto*, by *by* steps.

    None where the platform does not say.
    """

    upto: int | None
    by: int | None


class Standing(StrEnum):
    """How a piece of news stands to what is known."""

    NEXT = "it follows on what is known"
    OLD = "it is known already"
    APART = "something before it is missing, or nobody knows"


@dataclass(frozen=True, slots=True)
class Followed:
    """What became of several pieces of news, each named by its place among them.

    *linked* lead from what was known to *known* without a break, in that order. *apart* are to be stored and prove
    nothing. What is in neither was known already: to store it again could bring back what was deleted since.
    """

    known: int | None
    linked: tuple[int, ...]
    apart: tuple[int, ...]


def stands(known: int | None, step: Step) -> Standing:
    """How a piece of news stands to a counter that is *known*; None when there is none yet."""
    if known is None or step.upto is None or step.by is None:
        return Standing.APART
    if step.upto - step.by == known:
        return Standing.NEXT
    return Standing.OLD if step.upto <= known else Standing.APART


def follow(known: int | None, steps: Sequence[Step]) -> Followed:
    """Follow a sequence as far as it is unbroken, whatever the order in which its news came."""
    linked: list[int] = []
    apart: list[int] = []
    for place in sorted(range(len(steps)), key=lambda one: (steps[one].upto is None, steps[one].upto or 0)):
        standing = stands(known, steps[place])
        if standing is Standing.NEXT:
            known = steps[place].upto
            linked.append(place)
        elif standing is Standing.APART:
            apart.append(place)
    return Followed(known, tuple(linked), tuple(apart))
