"""A page to ask for, and which one a scan asks for next (seed 001)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tidegate.history.rules.coverage import START, Coverage


class Walk(StrEnum):
    """From where a page is read."""

    NEWEST = "newest"
    BEFORE = "before"  # downwards from a bound
    AFTER = "after"  # upwards from a bound


@dataclass(frozen=True, slots=True)
class PageAsked:
    """A page to ask for. *bound* itself is left out; from *floor* down nothing is needed, if one can say so."""

    walk: Walk
    bound: int | None = None
    floor: int | None = None

    def __post_init__(self) -> None:
        if (self.bound is None) != (self.walk is Walk.NEWEST):
            raise ValueError(f"a page has a bound unless it is the newest: {self}")


def next_page(coverage: Coverage, *, head: int, start: int = START, upwards: bool = False) -> PageAsked | None:
    """The page to request next; None when all from *start* up to *head* is covered.

    New messages come first, because people miss those at once. Then gaps, the newest first, and then deeper. *upwards*
    is for a platform that reads up from a bound: a catch-up then leaves its rest above, where the next page continues.
    """
    gaps = coverage.gaps(start=start, head=head)
    if not gaps:
        return None
    low, high = gaps[-1]
    floor = low - 1 if low > START else None
    if not coverage.spans or coverage.spans[-1].high < start:
        return PageAsked(Walk.NEWEST, floor=floor)
    if high < head:
        return PageAsked(Walk.BEFORE, bound=high + 1, floor=floor)
    return PageAsked(Walk.AFTER, bound=low - 1) if upwards else PageAsked(Walk.NEWEST, floor=floor)
