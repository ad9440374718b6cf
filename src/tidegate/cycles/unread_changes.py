"""Compares stored messages with the platform where the change counter advanced but the changes were not read."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from tidegate.accounts.queries import accounts
from tidegate.channels.queries import message_counts
from tidegate.core.errors import ENDS_CYCLE, LongWait, PlatformError
from tidegate.core.platform_call import IDS_A_CALL
from tidegate.database.pool import now_of
from tidegate.history.deletion_check import as_updates
from tidegate.history.ingest import IngestTally, take_in
from tidegate.history.queries import messages
from tidegate.scans.queries import scan_memory
from tidegate.scans.queries.scan_memory import ScanPlace
from tidegate.scans.scan_context import ScanContext

log = structlog.get_logger()


async def compare_unread(context: ScanContext, found: Sequence[ScanPlace], tally: IngestTally, *, calls: int) -> int:
    """Compare stored messages of such channels, 100 per call, with at most *calls* calls; returns how many it took.

    Each call stores its progress, so the next cycle continues there.
    """
    spent = 0
    for place in found:
        if place.memory.unread_upto is None or not place.memory.readable:
            continue
        try:
            while spent < calls and await _compare_some(context, place, tally):
                spent += 1
        except ENDS_CYCLE:
            raise
        except (LongWait, PlatformError) as problem:
            log.warning("changes.unread", channel=place.channel, title=place.title, problem=str(problem))
    return spent


async def _compare_some(context: ScanContext, place: ScanPlace, tally: IngestTally) -> bool:
    """Fetch the next stored messages and store their current state; False when there is nothing to fetch now."""
    async with context.database.transaction() as connection:
        await accounts.fence(connection, context.lane.claim())
        asked_at = await now_of(connection)
        wanted = await scan_memory.next_unread(connection, place, most=IDS_A_CALL)
        if wanted is None:
            return False
        if not wanted:
            await scan_memory.note_reconciled(connection, place, None)
            # A message that was never stored may have got a file by an edit: the number of documents shows that.
            await message_counts.ask_for_documents(connection, place.key)
            return False
    answer = await context.lane.messages(place.channel, wanted, cycle=context.cycle)
    async with context.database.transaction() as connection:
        claim = context.lane.claim()
        await accounts.fence(connection, claim)
        await messages.hold(connection, place.key)
        await take_in(connection, place, as_updates(answer), claim.account, tally, asked_at=asked_at)
        await scan_memory.note_reconciled(connection, place, min(wanted))
    return True
