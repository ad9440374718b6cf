"""Which pages of a history come next, how many of them at once, and when it is deep enough (seed 001).

Coverage alone says where work is left, so no state of a walk is stored. Slices of a huge channel are gaps like any
other, and after a crash only what was not finished is resumed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tidegate.core.ids import MessageId, Span
from tidegate.history.rules.coverage import START, Coverage
from tidegate.history.rules.page_request import PageAsked, Walk

PAGE = 100
"""How many messages a full page has, on the platforms we read."""

EVERYTHING = 2**63 - 1
"""More messages than there can be."""

WORTH_A_SLICE = 20 * PAGE
"""A slice that is likely to have fewer messages than this is not cut off: each cut may cost one page more."""


class BackfillPhase(StrEnum):
    """What a round of pages is for."""

    CATCH_UP = "catch up"  # messages newer than the stored ones, or between them
    FIRST = "first fetch"  # the newest messages of a history of which nothing is stored
    DEEPEN = "deepen"  # messages older than all that are stored


@dataclass(frozen=True, slots=True)
class HistoryDepth:
    """How deep a history is wanted: a number of *messages*, down to the time *since*, or all of it (both None)."""

    messages: int | None = None
    since: datetime | None = None

    def is_reached(self, messages: int, oldest_at: datetime | None) -> bool:
        """Whether nothing older is wanted, with this number of *messages* stored, the oldest from *oldest_at*.

        All of a history is never reached by counting: only the platform's answer ends it.
        """
        far_enough = self.since is not None and oldest_at is not None and oldest_at < self.since
        return far_enough or (self.messages is not None and messages >= self.messages)


@dataclass(frozen=True, slots=True)
class PortionBudget:
    """How far one portion of one channel goes; the rest queues again at once, so a limit never loses anything."""

    rounds: int = 10
    batches: int = 3
    messages: int = 1_000

    def __post_init__(self) -> None:
        if min(self.rounds, self.batches, self.messages) < 1:
            raise ValueError(f"a portion's limits count from 1: {self}")

    @property
    def most_pages(self) -> int:
        """More pages than this are never asked for in one portion, however few messages they bring."""
        return self.rounds * self.batches

    def pages(self, *, rounds: int, fetched: int) -> int:
        """How many pages the next round may request, after this number of rounds and fetched messages."""
        left = -(-(self.messages - fetched) // PAGE)
        return min(self.batches, left) if rounds < self.rounds and left > 0 else 0


@dataclass(frozen=True, slots=True)
class KnownHistory:
    """What is known of a channel's history. *head* is its newest message by the gate, 0 when the gate names none.

    *messages* are stored, the oldest from *oldest_at*. Below *earliest* the channel did not exist. That proves nothing,
    but slices there would be empty.
    """

    coverage: Coverage
    head: int
    messages: int = 0
    oldest_at: datetime | None = None
    earliest: int = START

    @property
    def top(self) -> int:
        """The newest message known."""
        return max([self.head, *(span.high for span in self.coverage.spans[-1:])])


@dataclass(frozen=True, slots=True)
class PageDirection:
    """How pages are requested: *upwards* where the platform reads up from a bound.

    With *overlap* a catch-up requests the newest page first. It shows what is new, and which stored messages were
    edited or deleted meanwhile. Without it, 100 new messages are one call and not two.
    """

    upwards: bool = False
    overlap: bool = False


@dataclass(frozen=True, slots=True)
class PageRound:
    """Pages to ask for at once."""

    phase: BackfillPhase
    pages: tuple[PageAsked, ...]


def next_round(known: KnownHistory, wanted: HistoryDepth, *, manner: PageDirection, at_once: int) -> PageRound | None:
    """The next pages of a history, at most *at_once*; None when all that is wanted is covered.

    New messages come first, because people miss those at once. Then every gap, the newest first, whatever the depth:
    a count says nothing about a gap. Deeper only while less than wanted is stored; in several slices when nothing else
    is left and many messages are expected.
    """
    spans = known.coverage.spans
    if not spans:
        return PageRound(BackfillPhase.FIRST, (PageAsked(Walk.NEWEST),))
    if known.head > spans[-1].high:
        return PageRound(BackfillPhase.CATCH_UP, (_newer(spans[-1].high, manner),))
    holes = known.coverage.gaps(start=spans[0].low, head=spans[-1].high)
    pages = [_within(hole, manner) for hole in reversed(holes)][:at_once]
    deeper = not known.coverage.reached_start and not wanted.is_reached(known.messages, known.oldest_at)
    if deeper and len(pages) < at_once:
        bounds = [spans[0].low] if holes else [spans[0].low, *_cuts(known, wanted, at_once)]
        pages += [PageAsked(Walk.BEFORE, bound) for bound in bounds]
    return PageRound(BackfillPhase.DEEPEN if deeper else BackfillPhase.CATCH_UP, tuple(pages)) if pages else None


def reconciled_newest(proven: Coverage, shown: Collection[MessageId]) -> int:
    """How many of the newest messages pages have shown without a gap, by the ranges they have *proven*.

    A history that was shown down to its start is reconciled completely, however few messages it has.
    """
    newest = proven.spans[-1:]
    if not newest:
        return 0
    return EVERYTHING if newest[0].low == START else sum(number >= newest[0].low for number in shown)


def _newer(newest: int, manner: PageDirection) -> PageAsked:
    if manner.upwards and not manner.overlap:
        return PageAsked(Walk.AFTER, newest)
    return PageAsked(Walk.NEWEST)


def _within(hole: Span, manner: PageDirection) -> PageAsked:
    """A page of a gap that has something covered on either side.

    Upwards where the platform can: a gap left by a lost connection ends at a message, so a full page may close it.
    """
    if manner.upwards:
        return PageAsked(Walk.AFTER, hole.low - 1)
    return PageAsked(Walk.BEFORE, hole.high + 1, floor=hole.low - 1)


def _cuts(known: KnownHistory, wanted: HistoryDepth, parts: int) -> list[int]:
    """Where further walks begin below the first, so that *parts* slices of equal width hold what is still wanted.

    How much a stretch holds is guessed from what is covered. A bad guess costs a page a slice and loses nothing.
    """
    low, high = known.coverage.spans[0].low, known.coverage.spans[-1].high
    numbers, width = high - low + 1, low - max(known.earliest, START)
    if wanted.since is not None or not known.messages or width < 1:
        return []
    if wanted.messages is not None:
        width = min(width, -(-(wanted.messages - known.messages) * numbers // known.messages))
    parts = min(parts, width * known.messages // numbers // WORTH_A_SLICE)
    return [low - width * part // parts for part in range(1, parts)]
