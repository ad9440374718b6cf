"""Compares platforms' message counts with stored rows; where they disagree, reads again and reports the difference."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from weakref import WeakKeyDictionary

import structlog

from tidegate.accounts.queries import accounts
from tidegate.channels.queries import message_counts
from tidegate.channels.queries.message_counts import CountMismatch
from tidegate.channels.rules.message_counts import MessageCounter, RecountStep, next_step
from tidegate.core.errors import ENDS_CYCLE, PlatformError
from tidegate.core.ids import ChannelId, MessageId
from tidegate.cycles.channel_scan import counted_documents, search_page
from tidegate.history.history_pages import look_at_newest
from tidegate.history.ingest import IngestTally, take_in
from tidegate.history.queries import messages
from tidegate.history.rules.page_request import PageAsked, Walk
from tidegate.lanes import Lane
from tidegate.platforms.interface import ChannelUpdates
from tidegate.scans.queries import scan_memory
from tidegate.scans.queries.scan_memory import ScanPlace
from tidegate.scans.scan_context import ScanContext

log = structlog.get_logger()

AT_ONCE = 20
"""How many counters of each kind are compared after a cycle."""

_IN_ORDER = ((MessageCounter.MESSAGES, MessageCounter.DOCUMENTS), (MessageCounter.POSTED,))
"""The count of all messages ever posted is compared once the current count agrees: the same page shows both."""

_comparing: WeakKeyDictionary[Lane, asyncio.Lock] = WeakKeyDictionary()
"""One comparison at a time: a cycle and the work beside it would request the same page."""


async def recount(context: ScanContext, tally: IngestTally, *, only: Collection[ChannelId] | None = None) -> int:
    """Compare platforms' counts with stored messages, and read again where they disagree; returns the number of calls.

    Deleted messages make a count disagree as well, and the same pages show that.
    """
    calls = 0
    async with _comparing.setdefault(context.lane, asyncio.Lock()):
        for counters in _IN_ORDER:
            async with context.database.connection() as connection:
                account = context.lane.account.id
                found = await message_counts.doubts(connection, account, counters, most=AT_ONCE, only=only)
            calls += sum([await _judge(context, doubt, tally) for doubt in found])
    return calls


async def _judge(context: ScanContext, doubt: CountMismatch, tally: IngestTally) -> int:
    step = next_step(doubt.count, waits=doubt.waits)
    if step is RecountStep.WAIT:
        return 0
    async with context.database.transaction() as connection:
        await accounts.fence(connection, context.lane.claim())
        if step is RecountStep.AGREED:
            await message_counts.note_agreed(connection, doubt, usual=doubt.count.usual_when_agreed)
            return 0
        if step is RecountStep.ACCEPT:
            await message_counts.accept(connection, doubt)
            return 0
        await message_counts.ask_again(connection, doubt, from_the_start=step is RecountStep.ASK_ALL)
    named = {"channel": doubt.channel, "title": doubt.title, "counter": doubt.count.counter.value}
    log.info("count.disagrees", **named, counted=doubt.count.reported, stored=doubt.count.stored, next=step.value)
    try:
        return await _ask(context, doubt, tally, whole=step is RecountStep.ASK_ALL)
    except ENDS_CYCLE:
        raise
    except PlatformError as problem:
        log.warning("count.not_asked_again", **named, problem=str(problem))
        return 0


async def _ask(context: ScanContext, doubt: CountMismatch, tally: IngestTally, *, whole: bool) -> int:
    """Request the newest page again, or the *whole* range; a whole history becomes a gap and is read as one."""
    if doubt.count.counter is MessageCounter.DOCUMENTS:
        return await _search_again(context, doubt, tally, whole=whole)
    if whole:
        return 0
    portion = await look_at_newest(context, doubt.key)
    tally.add(portion.tally)
    return portion.pages


async def _search_again(context: ScanContext, doubt: CountMismatch, tally: IngestTally, *, whole: bool) -> int:
    """Search for the documents of a place once more; coverage stays as it is."""
    place = await _place(context, doubt)
    asked, calls = PageAsked(Walk.NEWEST, floor=doubt.above or None), 0
    while place is not None:
        page = await search_page(context, place, asked)
        calls += 1
        numbers: list[MessageId] = [message.id for message in page.messages]
        async with context.database.transaction() as connection:
            claim = context.lane.claim()
            await accounts.fence(connection, claim)
            await messages.hold(connection, place.key)
            await take_in(connection, place, ChannelUpdates(None, posted=page.messages), claim.account, tally)
            counted = counted_documents(place, page, max([place.memory.newest_seen, *numbers]), above=asked.floor)
            if counted is not None and asked.bound is None:
                await message_counts.store(connection, context.lane.account.platform, [counted])
        if page.ended or not numbers or not whole:
            break
        asked = PageAsked(Walk.BEFORE, min(numbers), floor=asked.floor)
    return calls


async def _place(context: ScanContext, doubt: CountMismatch) -> ScanPlace | None:
    """The channel or topic as it is followed now; None when it is no longer followed."""
    async with context.database.connection() as connection:
        memory = await scan_memory.load(connection, context.lane.account.id, context.retries, only=[doubt.channel])
    return next((one for one in memory.places if (one.key, one.topic) == (doubt.key, doubt.topic)), None)
