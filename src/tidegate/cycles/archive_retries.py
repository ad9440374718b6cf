"""Retries of failed archives that are due: fetched by message id before anything else, whatever the verdicts say.

Invariant: due-failure-never-skipped.
"""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from tidegate.accounts.queries import accounts
from tidegate.archives.queries import failures
from tidegate.archives.queries.failures import Failed
from tidegate.archives.rules.retry import FailureState, batches, state_of
from tidegate.core.errors import ENDS_CYCLE, PlatformError
from tidegate.core.ids import ArchiveId, ChannelId, MessageId
from tidegate.events.kinds.archives import FailuresRetried
from tidegate.events.queries import feed
from tidegate.platforms.interface import Message
from tidegate.scans.queries.scan_memory import AccountMemory
from tidegate.scans.scan_context import ScanContext

log = structlog.get_logger()


async def retry_failures(context: ScanContext, memory: AccountMemory) -> int:
    """Queue every due failure whose messages still exist for another attempt; returns how many.

    A channel that cannot be requested now keeps its failures unchanged: a connection error is not an attempt.
    """
    due: dict[ChannelId, list[Failed]] = {}
    for one in memory.failed:
        if not one.in_hand and state_of(one.failure, context.retries, memory.now) is FailureState.DUE:
            due.setdefault(one.channel, []).append(one)
    return sum([await _retry_channel(context, channel, failed) for channel, failed in due.items()])


async def _retry_channel(context: ScanContext, channel: ChannelId, failed: list[Failed]) -> int:
    async with context.database.connection() as connection:
        parts = await failures.messages_of(connection, [one.archive for one in failed])
    wanted = {one.archive: parts.get(one.archive) or [MessageId(one.failure.message)] for one in failed}
    found: dict[MessageId, Message | None] = {}
    try:
        for batch in batches(number for numbers in wanted.values() for number in numbers):
            numbers = [MessageId(number) for number in batch]
            found.update(await context.lane.messages(channel, numbers, cycle=context.cycle))
    except ENDS_CYCLE:
        raise
    except PlatformError as problem:
        log.warning("failures.not_fetched", channel=channel, failures=len(failed), problem=str(problem))
        return 0
    return await _store_results(context, failed, wanted, found)


async def _store_results(
    context: ScanContext,
    failed: list[Failed],
    wanted: Mapping[ArchiveId, list[MessageId]],
    found: Mapping[MessageId, Message | None],
) -> int:
    gone = [one.archive for one in failed if any(_is_gone(found, number) for number in wanted[one.archive])]
    back = [
        one.archive
        for one in failed
        if one.archive not in gone and all(found.get(number) is not None for number in wanted[one.archive])
    ]
    async with context.database.transaction() as connection:
        await accounts.fence(connection, context.lane.claim())
        await failures.close_as_gone(connection, gone)
        retried = await failures.hand_back(connection, back)
        settled = FailuresRetried(retried=retried, source_gone=len(gone))
        await feed.record(connection, context.lane.account.name, settled)
    return retried


def _is_gone(found: Mapping[MessageId, Message | None], number: MessageId) -> bool:
    """Whether the platform said that a message no longer exists; a message missing from the answer proves nothing."""
    return number in found and found[number] is None
