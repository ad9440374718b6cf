"""A channel's coverage as a bar: which stretches of its history are complete, and which have gaps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tidegate.core.ids import Span
from tidegate.history.rules.coverage import Coverage

WIDTH = 1_000
"""How many units a picture is wide."""

_SEEN = 4
"""How many units a gap takes at least, so that one missing message among millions is visible."""


LISTED = 50
"""How many gaps are listed by their numbers."""


class BarSegment(NamedTuple):
    """A stretch of the picture."""

    at: int  # from the left
    width: int


@dataclass(frozen=True, slots=True)
class CoverageBar:
    """Bars for what is covered, and over them those for the gaps."""

    covered: tuple[BarSegment, ...]
    gaps: tuple[BarSegment, ...]
    holes: int  # how many gaps there are
    share: float  # how much of the history is covered, from 0 to 1
    newest: tuple[Span, ...] = ()  # the newest gaps, the newest first
    partial: bool = False  # whether some messages still lack fields

    @property
    def words(self) -> str:
        """The same as a sentence, for screen readers."""
        if not self.covered:
            return "Nothing is covered yet."
        if not self.holes:
            return "No gaps; some messages are still to be completed." if self.partial else "Complete."
        held = f"{self.share:.0%}" if 0.01 <= self.share <= 0.99 else "less than 1%" if self.share < 0.5 else "over 99%"
        return f"{held} covered, {self.holes:,} {'gap' if self.holes == 1 else 'gaps'}."


def picture_of(coverage: Coverage, *, first: int, head: int) -> CoverageBar:
    """The history from *first* to *head*, both included; where no message was seen yet there is nothing to show."""
    if head < first:
        return CoverageBar((), (), 0, 0.0)
    inside = [Span(max(low, first), min(high, head)) for low, high in coverage.spans if high >= first and low <= head]
    holes = coverage.gaps(start=first, head=head)
    length = head - first + 1
    covered = sum(high - low + 1 for low, high in inside)
    return CoverageBar(
        covered=_bars(inside, first, length, least=1),
        gaps=_bars(holes, first, length, least=_SEEN),
        holes=len(holes),
        share=covered / length,
        newest=tuple(holes[: -LISTED - 1 : -1]),
    )


def _bars(spans: Iterable[Span], first: int, length: int, *, least: int) -> tuple[BarSegment, ...]:
    """Stretches in the picture's units, each of them as wide as the *least*; those that touch are one."""
    bars: list[BarSegment] = []
    for low, high in spans:
        width = max(least, (high - low + 1) * WIDTH // length)
        at = min((low - first) * WIDTH // length, WIDTH - width)
        if bars and at <= bars[-1].at + bars[-1].width:
            bars[-1] = BarSegment(bars[-1].at, max(bars[-1].width, at + width - bars[-1].at))
        else:
            bars.append(BarSegment(at, width))
    return tuple(bars)
