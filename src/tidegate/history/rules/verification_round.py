"""Rounds in which a whole history is compared again, page by page from the newest message down."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidegate.core.ids import MessageId

DAY = timedelta(days=1)

COUNTER_FROM = DAY
"""How old a comparison is before a counter takes its place: a channel's round is stored at most once a day for it."""

CALLS_OF_A_PAGE = 3
"""A page that lacks stored messages may cost two more: one asks for them by number, one for the page again."""


@dataclass(frozen=True, slots=True)
class FreeCounter:
    """A platform's counter of posts, edits and deletions (Telegram's pts), as it stands beside a history.

    *compared* is its value when the last whole comparison began, *known* the value up to which all changes are stored;
    None where there was none. *unread*: it moved past changes that are not read yet. *disputed*: a count disagrees.
    """

    compared: int | None
    known: int | None
    unread: bool
    disputed: bool


def proves(counter: FreeCounter) -> bool:
    """Whether every post, edit and deletion since that comparison is stored, so that it need not be made again."""
    if counter.compared is None or counter.known is None or counter.unread or counter.disputed:
        return False
    return counter.known >= counter.compared


def begins_every(within: timedelta) -> timedelta:
    """How often a round begins, so that each message is compared again *within* that time."""
    return within / 2


def next_bound(shown: Collection[MessageId], *, reached_start: bool, lowest: int) -> int | None:
    """Below which message a round goes on after a page that has *shown* these; None where it has ended.

    It ends at the start of the history, or at *lowest*, below which nothing is stored.
    """
    if reached_start or not shown or min(shown) <= lowest:
        return None
    return min(shown)


def room(calls_a_day: int, spent: int, a_pass: int) -> int:
    """How many calls one pass may make without the day's budget being exceeded by the last page."""
    return max(0, min(a_pass, calls_a_day - spent - (CALLS_OF_A_PAGE - 1)))


def ends_at(now: datetime, pages: int, calls_a_day: int) -> datetime | None:
    """When so many *pages* have been compared with this budget; None without one."""
    return now + DAY * pages / calls_a_day if calls_a_day else None
