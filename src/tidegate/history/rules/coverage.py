"""Which ranges of a channel's history are complete, what a page adds, and which page comes next (seed 001).

Platforms number a channel's messages upwards, so history is a line of numbers. Coverage is the part of that line that
has been read for certain; between its ranges are gaps. Nothing here counts messages: a count does not show gaps.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from tidegate.core.errors import PlatformError
from tidegate.core.ids import MessageId, Span

START = 0
"""Below every possible message: coverage that holds it reaches the start of history."""


class Walk(StrEnum):
    """From where a page is read."""

    NEWEST = "newest"
    BEFORE = "before"  # downwards from a bound
    AFTER = "after"  # upwards from a bound


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


# What a page proves


@dataclass(frozen=True, slots=True)
class PageAsked:
    """A page to ask for. *bound* itself is left out; from *floor* down nothing is needed, if one can say so."""

    walk: Walk
    bound: int | None = None
    floor: int | None = None

    def __post_init__(self) -> None:
        if (self.bound is None) != (self.walk is Walk.NEWEST):
            raise ValueError(f"a page has a bound unless it is the newest: {self}")


class EndRule(StrEnum):
    """How a platform ends a walk: on Discord with a short page; on Telegram a short page says nothing."""

    SHORT_PAGE = "a page with fewer messages than asked for"
    EMPTY_PAGE = "a page without messages"

    def ended(self, *, received: int, limit: int) -> bool:
        """Whether an unfiltered page with this number of messages was the last of its walk."""
        return received < limit if self is EndRule.SHORT_PAGE else received == 0


def proven(
    asked: PageAsked,
    messages: Collection[MessageId],
    *,
    head: int,
    ended: bool,
    may_read: bool,
    index_lag: int = 0,
) -> Span | None:
    """The range that a page has shown completely; None when it proves nothing.

    *messages* are all numbers of the page as the platform sent it. *head* is the newest message known **before** the
    page was requested. Above it and above the page itself nothing is proven, because messages may be arriving there.
    Without the proven right to read history an empty page proves nothing. *index_lag* is how many of the newest numbers
    a search may not know yet.

    A page beyond its bound, or one that neither ends nor continues, raises ``PlatformError``: it does not count as the
    end.
    """
    if not may_read:
        return None
    _insist_on_sense(asked, messages, ended=ended)
    top = max([head, *messages])
    lowest = START if asked.floor is None else asked.floor + 1
    if asked.walk is Walk.AFTER and asked.bound is not None:
        low, high = asked.bound + 1, top if ended else max(messages)
    else:
        low = lowest if ended else min(messages)
        high = top if asked.bound is None else asked.bound - 1
    high = min(high, top - index_lag)
    return Span(low, high) if low <= high else None


def _insist_on_sense(asked: PageAsked, messages: Collection[MessageId], *, ended: bool) -> None:
    for message in messages:
        if asked.bound is not None and (message <= asked.bound if asked.walk is Walk.AFTER else message >= asked.bound):
            raise PlatformError(
                f"The platform was asked for messages {asked.walk} {asked.bound} and sent {message}: nothing is proven."
            )
    if not messages and not ended:
        raise PlatformError("The platform sent a page that neither ends the history nor moves on.")


def common(one: Span | None, other: Span | None) -> Span | None:
    """What two stretches share."""
    if one is None or other is None:
        return None
    low, high = max(one.low, other.low), min(one.high, other.high)
    return Span(low, high) if low <= high else None


def unbroken(since: int, newest: int) -> Span | None:
    """What live messages prove: all after the head *since* at which the platform's own sequence began, up to *newest*.

    A live message that comes outside such a sequence is stored and proves nothing (live-never-closes-a-gap).
    """
    return Span(since + 1, newest) if newest > since else None


# Which page next


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


# What a page proves deleted


def proven_deleted(
    stored: Iterable[MessageId], shown: Collection[MessageId], span: Span | None, content: Content
) -> set[MessageId]:
    """The *stored* messages that a page proves deleted: inside its proven stretch, and not *shown*.

    *stored* are those known before the page was asked for. A search proves no deletion: its index may lag or leave out.
    """
    if span is None or content is not Content.MESSAGES:
        return set()
    return {message for message in stored if span.low <= message <= span.high} - set(shown)
