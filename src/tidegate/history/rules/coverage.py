"""Which ranges of a channel's history are complete, and where its gaps are (seed 001).

Platforms number a channel's messages upwards, so history is a line of numbers. Coverage is the part of that line that
has been read for certain; between its ranges are gaps. Nothing here counts messages: a count does not show gaps.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tidegate.core.ids import Span

START = 0
"""Below every possible message: coverage that holds it reaches the start of history."""


class Content(StrEnum):
    """What a page shows of its stretch. A filtered search extends coverage of its own kind only."""

    MESSAGES = "messages"
    DOCUMENTS = "documents"


@dataclass(frozen=True, slots=True)
class Coverage:
    """The stretches known to be complete: in order, apart from each other by at least one number."""

    spans: tuple[Span, ...] = ()

    def __post_init__(self) -> None:
        bounds = [bound for span in self.spans for bound in span]
        in_order = all(low <= high for low, high in self.spans)
        apart = all(high + 1 < low for high, low in zip(bounds[1::2], bounds[2::2], strict=False))
        if not (in_order and apart and (not bounds or bounds[0] >= START)):
            raise ValueError(f"coverage is made of stretches in order and apart: {self.spans}")

    @classmethod
    def of(cls, spans: Iterable[tuple[int, int]]) -> Coverage:
        """Coverage of all these stretches, which may overlap and come in any order."""
        merged: list[Span] = []
        for low, high in sorted(spans):
            if merged and low <= merged[-1].high + 1:
                merged[-1] = Span(merged[-1].low, max(merged[-1].high, high))
            else:
                merged.append(Span(low, high))
        return cls(tuple(merged))

    def with_span(self, span: Span | None) -> Coverage:
        """The same with one more stretch; None adds nothing."""
        if span is None:
            return self
        first = bisect_left(self.spans, span.low - 1, key=lambda known: known.high)
        after = bisect_right(self.spans, span.high + 1, key=lambda known: known.low)
        met = self.spans[first:after]
        joined = Span(min([span.low, *(known.low for known in met)]), max([span.high, *(known.high for known in met)]))
        return Coverage((*self.spans[:first], joined, *self.spans[after:]))

    def __contains__(self, number: int) -> bool:
        place = bisect_left(self.spans, number, key=lambda known: known.high)
        return place < len(self.spans) and self.spans[place].low <= number

    @property
    def reached_start(self) -> bool:
        """Whether nothing older is left to read, as the platform says."""
        return START in self

    def gaps(self, *, start: int = START, head: int) -> list[Span]:
        """What is not covered from *start* up to *head*, oldest first."""
        holes, unread = [], start
        for known in self.spans:
            if known.low > unread and unread <= head:
                holes.append(Span(unread, min(known.low - 1, head)))
            unread = max(unread, known.high + 1)
        if unread <= head:
            holes.append(Span(unread, head))
        return holes


def incomplete_before(coverage: Coverage, *, upto: int) -> int | None:
    """The number from which on every message up to *upto* is known; None when that is all of them.

    When not even *upto* is covered, nothing is known to be complete, and it is the number after it. Of a channel in
    which no message was ever seen (*upto* 0) nothing is missing.
    """
    if upto <= START:
        return None
    known = next((span for span in coverage.spans if span.low <= upto <= span.high), None)
    if known is None:
        return upto + 1
    return None if known.low <= START else known.low
