"""Checks stored messages that an answer lacks by their numbers, before they count as deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from tidegate.archives.rules.retry import batches
from tidegate.core.ids import ChannelId, ChannelKey, CycleNumber, MessageId, Span
from tidegate.database.pool import Connection
from tidegate.history.queries import messages
from tidegate.history.rules.coverage import Content
from tidegate.history.rules.page_proof import proven_deleted
from tidegate.lanes import Lane
from tidegate.platforms.interface import ChannelUpdates, Message


@dataclass(frozen=True, slots=True)
class Recalled:
    """What the platform says of messages by their numbers. One may be neither *found* nor *gone*."""

    asked: frozenset[MessageId] = frozenset()
    found: tuple[Message, ...] = ()
    gone: frozenset[MessageId] = frozenset()
    calls: int = 0

    def __or__(self, other: Recalled) -> Recalled:
        return Recalled(
            self.asked | other.asked, self.found + other.found, self.gone | other.gone, self.calls + other.calls
        )


def as_updates(answer: Mapping[MessageId, Message | None]) -> ChannelUpdates:
    """What messages that were asked for by their numbers are now, as changes of their channel."""
    return ChannelUpdates(
        None,
        edited=[message for message in answer.values() if message is not None],
        deleted=[number for number, message in answer.items() if message is None],
    )


async def recall(
    lane: Lane, channel: ChannelId, wanted: Collection[MessageId], *, cycle: CycleNumber | None
) -> Recalled:
    """Ask for messages by their numbers, a hundred to a call."""
    answer: dict[MessageId, Message | None] = {}
    calls = batches(wanted)
    for some in calls:
        answer |= await lane.messages(channel, some, cycle=cycle)
    found = tuple(message for message in answer.values() if message is not None)
    gone = frozenset(number for number, message in answer.items() if message is None)
    return Recalled(frozenset(wanted), found, gone, len(calls))


async def lacking(
    connection: Connection,
    key: ChannelKey,
    span: Span | None,
    shown: Iterable[Message],
    deleted: Collection[MessageId] = (),
) -> set[MessageId]:
    """The stored messages that an answer lacks: in its proven range, neither *shown* nor called *deleted*.

    The answer may have lost them, so that alone marks none of them as deleted.
    """
    if span is None:
        return set()
    stored = await messages.between(connection, key, span.low, span.high)
    return proven_deleted(stored, {one.id for one in shown}, span, Content.MESSAGES) - set(deleted)
