"""Reads messages once more whose fields are partial, in the background and within a budget of calls."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.core.ids import ChannelId
from tidegate.core.platform_call import IDS_A_CALL
from tidegate.database.pool import now_of
from tidegate.history.background.call_budget import PASS_EVERY, calls_a_pass, read_within
from tidegate.history.deletion_check import as_updates
from tidegate.history.ingest import IngestTally, take_in
from tidegate.history.queries import partial_messages
from tidegate.scans.queries import scan_memory
from tidegate.scans.queries.scan_memory import ScanPlace
from tidegate.scans.scan_context import ScanContext

_A_HOUR = timedelta(hours=1)


async def refill(context: ScanContext, *, calls_per_hour: int) -> timedelta | None:
    """Read partial messages again, the newest of each channel first; returns when to go on, None when all are read.

    Each answer is stored at once, so that the work resumes after a crash.
    """
    calls = calls_a_pass(calls_per_hour, _A_HOUR)
    if not calls:
        return None
    async with context.database.connection() as connection:
        numbers = await partial_messages.channels(connection, context.lane.account.id)
    await read_within(
        context,
        numbers,
        calls=calls,
        place_of=partial(_place, context),
        read=partial(_refill_some, context),
        line="fields.partial",
    )
    return PASS_EVERY if numbers else None


async def _place(context: ScanContext, number: ChannelId) -> ScanPlace | None:
    async with context.database.connection() as connection:
        memory = await scan_memory.load(connection, context.lane.account.id, context.retries, only=[number])
    return next((place for place in memory.places if place.is_channel), None)


async def _refill_some(context: ScanContext, place: ScanPlace) -> int:
    """Make one call for the newest partial messages of a channel; 0 when it has none, or none can be completed."""
    async with context.database.connection() as connection:
        asked_at = await now_of(connection)
        wanted = await partial_messages.newest(connection, place.key, most=IDS_A_CALL)
    if not wanted:
        return 0
    answer = await context.lane.messages(place.channel, wanted, cycle=context.cycle)
    claim = context.lane.claim()
    async with owned_transaction(context.database, claim) as connection:
        await take_in(connection, place, as_updates(answer), claim.account, IngestTally(), asked_at=asked_at)
        after = await partial_messages.newest(connection, place.key, most=IDS_A_CALL)
    return int(after != wanted)
