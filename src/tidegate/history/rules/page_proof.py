"""What a page proves: the stretch that it shows completely, and which stored messages are deleted (seed 001)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tidegate.core.errors import PlatformError
from tidegate.core.ids import MessageId, Span
from tidegate.history.rules.coverage import START, Content
from tidegate.history.rules.page_request import PageAsked, Walk


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


def proven_deleted(
    stored: Iterable[MessageId], shown: Collection[MessageId], span: Span | None, content: Content
) -> set[MessageId]:
    """The *stored* messages that a page proves deleted: inside its proven stretch, and not *shown*.

    *stored* are those known before the page was asked for. A search proves no deletion: its index may lag or leave out.
    """
    if span is None or content is not Content.MESSAGES:
        return set()
    return {message for message in stored if span.low <= message <= span.high} - set(shown)
