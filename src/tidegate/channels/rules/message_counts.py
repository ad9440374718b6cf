"""What platforms count, compared with the stored rows: whether rows got lost, and what to do about it.

A counter is only a reason to read again. A difference that stays counts as the platform's own error, and is checked
more and more rarely.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from itertools import islice

from tidegate.core.ids import MessageId

READ_AGAIN_UP_TO = 2_000
"""A range with more messages is not read again from its start for a count: only its newest page is."""

FIRST_PAUSE, LONGEST_PAUSE = timedelta(hours=1), timedelta(days=30)


class MessageCounter(StrEnum):
    """What a platform counts.

    MESSAGES are there now (Telegram with each page of a history, Discord of a thread). POSTED ever were in a thread, so
    deletions do not lower it. DOCUMENTS are those that a search finds.
    """

    MESSAGES = "messages"
    POSTED = "posted"
    DOCUMENTS = "documents"


@dataclass(frozen=True, slots=True)
class Count:
    """A counter beside the rows of the same range.

    *reported* is the platform's number, None where it was not asked yet. For POSTED, deleted rows count as *stored*.
    *deleted_since* were noticed as deleted after the count, so it may still contain them. *everywhere* is what is
    stored from the start on, for a search that began higher: whether Telegram then counts all is not documented.
    *usual* is the difference that was left when everything had been read again; None before the first comparison.
    """

    counter: MessageCounter
    reported: int | None
    stored: int
    deleted_since: int = 0
    everywhere: int | None = None
    usual: int | None = None
    asked: int = 0

    @property
    def more(self) -> int:
        """By how much the platform counts more than is stored."""
        return 0 if self.reported is None else self.reported - self.stored

    @property
    def agrees(self) -> bool:
        """Whether the difference is within what the counter means."""
        if self.reported is None:
            return False
        least = self.more - self.deleted_since
        if self.counter is MessageCounter.MESSAGES:
            return any(least <= usual <= self.more for usual in (0, self.usual or 0))
        if self.counter is MessageCounter.POSTED:  # a message deleted before it was read has no row
            return self.usual is None or self.more <= self.usual
        # A search index may lag or leave out documents, so only a surplus means anything.
        return least <= max(0, self.usual or 0) or self.reported == self.everywhere

    @property
    def usual_when_agreed(self) -> int:
        """The difference to expect next time, when this one is within what the counter means."""
        if self.counter is MessageCounter.POSTED:
            return self.more
        is_none_left = self.more - self.deleted_since <= 0 or self.reported == self.everywhere
        if self.counter is MessageCounter.MESSAGES:
            is_none_left = self.more >= 0 >= self.more - self.deleted_since
        return 0 if is_none_left else self.usual or 0


class RecountStep(StrEnum):
    """What follows from a comparison."""

    AGREED = "agreed"
    WAIT = "wait"
    ASK_NEWEST = "ask for the newest page again"
    ASK_ALL = "read the whole stretch again"
    ACCEPT = "take the difference for usual"


def next_step(count: Count, *, waits: bool) -> RecountStep:
    """What to do about a counter; one that *waits* disagreed before, and is not asked about yet.

    First the newest page, where a row is most likely to be missing; then all of a stretch that is not too long. A
    message posted and deleted between two checks raises POSTED as a lost row does, so one page is read and no more.
    """
    if count.agrees:
        return RecountStep.AGREED
    if waits:
        return RecountStep.WAIT
    if count.asked == 0:
        return RecountStep.ASK_NEWEST
    is_short = count.reported is not None and count.reported <= READ_AGAIN_UP_TO
    whole = is_short and count.counter is not MessageCounter.POSTED
    return RecountStep.ASK_ALL if whole and count.asked == 1 else RecountStep.ACCEPT


def pause_after(misses: int) -> timedelta:
    """How long a counter is ignored that disagreed *misses* times for good: an hour, then twice as long each time."""
    return min(FIRST_PAUSE * (1 << min(max(misses - 1, 0), 20)), LONGEST_PAUSE)


def is_cut_short(*, oldest: int, reported: int, stored: int) -> bool:
    """Whether a page that seems to end a history is doubted: by the count more messages exist than are *stored* now.

    Below message 1, which may be its *oldest*, there is nothing that it could have cut off.
    """
    return oldest > 1 and reported > stored


# Telegram's counter of changes


@dataclass(frozen=True, slots=True)
class Changes:
    """What differences showed from the counter value *since* on. Messages up to *newest_seen* were known before.

    *steps* is how many changes they contained, *posted* and *deleted* are the numbers of messages.
    """

    newest_seen: int
    since: int
    upto: int = 0
    steps: int = 0
    posted: frozenset[MessageId] = frozenset()
    deleted: frozenset[MessageId] = frozenset()

    def with_answer(
        self, posted: Collection[MessageId], deleted: Collection[MessageId], upto: int | None, steps: int | None
    ) -> Changes:
        """The same with one more answer."""
        return replace(
            self,
            upto=max(self.upto, upto or 0),
            steps=self.steps + (steps or 0),
            posted=self.posted | frozenset(posted),
            deleted=self.deleted | frozenset(deleted),
        )

    def lost(self, *, most: int) -> list[MessageId]:
        """Numbers, newest first, one of which at least was posted and did not come; at most *most* of them.

        A channel numbers its messages without gaps. A number that is missing was posted and deleted meanwhile, which is
        two changes, or got lost, which is one. Fewer than two missing changes a number prove a loss.
        """
        top = max(self.posted, default=0)
        known = {number for number in self.posted | self.deleted if self.newest_seen < number <= top}
        holes = max(0, top - self.newest_seen - len(known))
        if not 0 < self.upto - self.since - self.steps < 2 * holes:
            return []
        unreported = (MessageId(number) for number in range(top, self.newest_seen, -1) if number not in known)
        return list(islice(unreported, most))
