"""Rolling verification: whole histories are compared with the platform again, in rounds and within a budget."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import partial

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.core.errors import PlatformError
from tidegate.core.ids import ChannelKey
from tidegate.database.pool import Connection, now_of
from tidegate.history.background.call_budget import PASS_EVERY, calls_a_pass, read_within
from tidegate.history.history_pages import Answer, HistoryPolicy, HistoryPortion, history_lock, load, read_page
from tidegate.history.queries import verification
from tidegate.history.rules.page_request import PageAsked, Walk
from tidegate.history.rules.verification_round import (
    COUNTER_FROM,
    DAY,
    begins_every,
    ends_at,
    next_bound,
    proves,
    room,
)
from tidegate.scans.queries.scan_memory import ScanPlace
from tidegate.scans.scan_context import ScanContext


async def verify_some(context: ScanContext, policy: HistoryPolicy) -> timedelta | None:
    """Compare some pages of the histories whose round is due; returns when to go on, None where none is due.

    Each page and the place of its round are stored in one transaction, so a round resumes after a crash. The budget
    wins: where it is too small for *verify_within*, rounds take longer.
    """
    if not policy.verify_calls:
        return None
    account, every = context.lane.account.id, begins_every(policy.verify_within)
    calls = calls_a_pass(policy.verify_calls, DAY)
    async with owned_transaction(context.database, context.lane.claim()) as connection:
        await verification.note_histories(connection, account)
        found = await verification.due(connection, account, every=every, most=calls)
        spent = await verification.spent_today(connection, account)
    done: set[ChannelKey] = set()
    await read_within(
        context,
        found,
        calls=room(policy.verify_calls, spent, calls),
        place_of=partial(_place, context),
        read=partial(_verify_page, context, done),
        line="verification.failed",
    )
    if found:
        async with owned_transaction(context.database, context.lane.claim()) as connection:
            pages = await verification.pages_ahead(connection, account, every=every)
            await verification.note_end(
                connection, account, ends_at(await now_of(connection), pages, policy.verify_calls)
            )
    return PASS_EVERY if found else None


async def verify_by_counters(context: ScanContext, read: Collection[ChannelKey], *, at: datetime) -> None:
    """Where a free counter proves that nothing is missing, a history counts as compared, without a call for its pages.

    *read* are the channels whose counter the platform named after *at*, and whose changes up to it have been read.
    """
    if not read:
        return
    async with owned_transaction(context.database, context.lane.claim()) as connection:
        found = await verification.free_counters(connection, read, older=COUNTER_FROM)
        proven = [key for key, counter in found.items() if proves(counter)]
        if proven:
            await verification.count_as_compared(connection, proven, at=at)


async def _place(context: ScanContext, key: ChannelKey) -> ScanPlace | None:
    history = await load(context, key)
    return None if history is None else history.place


async def _verify_page(context: ScanContext, done: set[ChannelKey], place: ScanPlace) -> int:
    """Compare the next page of a channel's round; returns the calls, 0 when the round has ended in this pass."""
    portion, account = HistoryPortion(), context.lane.account.id
    async with history_lock(context.lane, place.key):
        history = await load(context, place.key)
        async with context.database.connection() as connection:
            current = await verification.load(connection, place.key)
        if history is None or current is None or place.key in done:
            return 0
        lowest = history.known.coverage.spans[0].low

        async def note(connection: Connection, answer: Answer) -> None:
            numbers = [message.id for message in answer.page.messages]
            below = next_bound(numbers, reached_start=answer.page.reached_start, lowest=lowest)
            await verification.advance(connection, place.key, below, asked_at=history.at)
            await verification.spend(connection, account, portion.pages)
            if below is None:
                done.add(place.key)

        portion.progress = note
        asked = PageAsked(Walk.NEWEST) if current.below is None else PageAsked(Walk.BEFORE, current.below)
        try:
            await read_page(context, history, asked, portion)
        except PlatformError:
            async with owned_transaction(context.database, context.lane.claim()) as connection:
                await verification.spend(connection, account, 1)
            raise
    return portion.pages
