"""Failed archives that are due: fetched by message number before anything else, whatever the verdicts say (law 2)."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from tidegate.errors import PlatformError
from tidegate.mirror.scan import FINAL, Hand
from tidegate.port import ChannelId, Message, MessageId
from tidegate.rules.retrying import FailureState, batches, state_of
from tidegate.store import accounts, failures, feed
from tidegate.store.failures import Failed
from tidegate.store.places import Memory

log = structlog.get_logger()


async def retry_failures(hand: Hand, memory: Memory) -> int:
    """Hand every due failure whose messages are still there back to be worked on; returns how many.

    A channel that cannot be asked now keeps its failures as they are: trouble on the way is no try.
    """
    due: dict[ChannelId, list[Failed]] = {}
    for one in memory.failed:
        if not one.in_hand and state_of(one.failure, hand.retries, memory.now) is FailureState.DUE:
            due.setdefault(one.channel, []).append(one)
    return sum([await _retry_channel(hand, channel, failed) for channel, failed in due.items()])


async def _retry_channel(hand: Hand, channel: ChannelId, failed: list[Failed]) -> int:
    async with hand.database.connection() as connection:
        parts = await failures.messages_of(connection, [one.archive for one in failed])
    wanted = {one.archive: parts.get(one.archive) or [MessageId(one.failure.message)] for one in failed}
    found: dict[MessageId, Message | None] = {}
    try:
        for batch in batches(number for numbers in wanted.values() for number in numbers):
            numbers = [MessageId(number) for number in batch]
            found.update(await hand.lane.messages(channel, numbers, cycle=hand.cycle))
    except FINAL:
        raise
    except PlatformError as problem:
        log.warning("failures.not_fetched", channel=channel, failures=len(failed), problem=str(problem))
        return 0
    return await _settle(hand, failed, wanted, found)


async def _settle(
    hand: Hand,
    failed: list[Failed],
    wanted: Mapping[int, list[MessageId]],
    found: Mapping[MessageId, Message | None],
) -> int:
    gone = [one.archive for one in failed if any(_is_gone(found, number) for number in wanted[one.archive])]
    back = [
        one.archive
        for one in failed
        if one.archive not in gone and all(found.get(number) is not None for number in wanted[one.archive])
    ]
    async with hand.database.transaction() as connection:
        await accounts.fence(connection, hand.lane.claim())
        await failures.close_as_gone(connection, gone)
        retried = await failures.hand_back(connection, back)
        told = {"retried": retried, "source_gone": len(gone)}
        await feed.record(connection, "failures.retried", hand.lane.account.name, told)
    return retried


def _is_gone(found: Mapping[MessageId, Message | None], number: MessageId) -> bool:
    """Whether the platform said that a message no longer exists; silence about it says nothing."""
    return number in found and found[number] is None
