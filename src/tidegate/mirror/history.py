"""Reading all messages of a channel that is mirrored in full: newest first, gap by gap, down to its start."""

from __future__ import annotations

from tidegate.mirror.intake import Tally, take_in
from tidegate.mirror.scan import Hand
from tidegate.port import MessageId, News, Page
from tidegate.rules.history import Content, Span, next_page, proven, proven_deleted
from tidegate.store import accounts, coverage, feed, messages, places
from tidegate.store.places import Place


async def read_history(hand: Hand, place: Place, tally: Tally) -> bool:
    """Read on where the coverage of all messages has gaps, for one turn's pages; True when none is left.

    A channel's differences cover what comes after the first scan, so this ends for good at the start of its history.
    """
    async with hand.database.connection() as connection:
        known = (await coverage.load(connection, place.key))[Content.MESSAGES]
        head = await places.newest_seen(connection, place.key)
    for _ in range(hand.limits.pages_a_turn):
        asked = next_page(known, head=head)
        if asked is None:
            return True
        before = None if asked.bound is None else MessageId(asked.bound)
        page = await hand.lane.page(place.channel, before=before, cycle=hand.cycle)
        numbers = [message.id for message in page.messages]
        span = proven(asked, numbers, head=head, ended=page.reached_start, may_read=True)
        known = known.with_span(span)
        await _keep(hand, place, page, span, tally)
    return next_page(known, head=head) is None


async def _keep(hand: Hand, place: Place, page: Page, span: Span | None, tally: Tally) -> None:
    """One page: its messages, what it proves deleted, its coverage and the event, all or nothing (law 5)."""
    before = (tally.messages, tally.archives)
    async with hand.database.transaction() as connection:
        claim = hand.lane.claim()
        await accounts.fence(connection, claim)
        stored = [] if span is None else await messages.between(connection, place.key, span.low, span.high)
        gone = proven_deleted(stored, {message.id for message in page.messages}, span, Content.MESSAGES)
        news = News(None, posted=page.messages, deleted=[MessageId(number) for number in sorted(gone)])
        await take_in(connection, place, news, claim.account, tally)
        await coverage.add(connection, place.key, dict.fromkeys(Content, span))
        told = {
            "channel": place.channel,
            "messages": tally.messages - before[0],
            "archives": tally.archives - before[1],
            "upto": None if span is None else span.low,
        }
        await feed.record(connection, "backfill.progressed", place.title, told)
