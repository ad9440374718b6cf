"""Topics that a cycle need not check one by one: their forum is unchanged, and nothing is due in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import structlog

from tidegate.accounts.queries import accounts
from tidegate.channels.queries.channels import NO_TOPIC
from tidegate.core.ids import ChannelKey
from tidegate.scans.queries import due_topics, scan_memory
from tidegate.scans.queries.due_topics import CycleMoment, IdleTopics
from tidegate.scans.queries.scan_memory import AccountMemory, ScanPlace
from tidegate.scans.rules.scan_decision import GateChange, ScanPolicy, Verdict, verdict_after_gate
from tidegate.scans.scan_context import ScanContext

log = structlog.get_logger()

FORUMS_AT_ONCE = 50
"""How many forums' topics are stored in one transaction."""

LINES = {
    Verdict.FRESH: "Skipping recently-scanned idle channel",
    Verdict.COLD: "Skipping cold channel, not its turn",
    # The seed said "Channel caught up via getChat", which read a cache. The gate asks the server itself.
    Verdict.UNCHANGED: "Channel caught up via the gate",
    Verdict.UNREADABLE: "Skipping channel that no account can read",
}
"""The log lines that operators of the seed look for; the verdict is a field of each."""


async def rest_asleep(
    context: ScanContext, memory: AccountMemory, scans: ScanPolicy, moment: CycleMoment, forums: Iterable[ScanPlace]
) -> Counter[Verdict]:
    """Store the verdicts of idle topics in unchanged forums, many in one transaction; returns the verdicts.

    One log line covers all topics of a forum that have the same verdict.
    """
    counts: Counter[Verdict] = Counter()
    by_topic = [forum for forum in forums if forum.by_topic]
    for start in range(0, len(by_topic), FORUMS_AT_ONCE):
        some = by_topic[start : start + FORUMS_AT_ONCE]
        asleep = await _store(context, memory, scans, moment, some)
        for forum in some:
            verdicts = {
                verdict_after_gate(verdict, GateChange.UNCHANGED): count for verdict, count in asleep[forum.key].items()
            }
            counts.update(verdicts)
            _tell(context, forum, verdicts)
    return counts


async def wake_all(context: ScanContext, forum: ScanPlace) -> list[ScanPlace]:
    """Every topic of a forum that is followed on its own."""
    async with context.database.connection() as connection:
        known = await scan_memory.load(connection, context.lane.account.id, context.retries, only=[forum.channel])
    return [topic for topic in known.places if not topic.is_channel]


async def wake_wanted(context: ScanContext, memory: AccountMemory, forum: ScanPlace) -> list[ScanPlace]:
    """The topics of a forum that are read whatever the gate answers."""
    wanted = {(forum.key, topic) for topic in memory.wanted.get(forum.key, ())}
    if not wanted:
        return []
    async with context.database.connection() as connection:
        found = await scan_memory.load_some(
            connection, context.lane.account.id, wanted,
            failed=memory.failed, policy=context.retries, now=memory.now, only=[forum.channel],
        )  # fmt: skip
    return [topic for topic in found if not topic.is_channel]


async def _store(
    context: ScanContext, memory: AccountMemory, scans: ScanPolicy, moment: CycleMoment, forums: Sequence[ScanPlace]
) -> Mapping[ChannelKey, Counter[Verdict]]:
    """Store one batch; returns the verdicts its topics had before the gate answered, by the key of their forum."""
    async with context.database.transaction() as connection:
        await accounts.fence(connection, context.lane.claim())
        # Recording a failure locks the channel's own place first, so one lock per forum covers all its topics.
        await scan_memory.lock(connection, [(forum.key, NO_TOPIC) for forum in forums])
        pending = await scan_memory.pending(connection, context.lane.account.id, context.retries, memory.now)
        keys = {forum.key for forum in forums}
        awake = {at for at, count in pending.items() if count}
        awake |= {(place.key, place.topic) for place in memory.places if place.key in keys}
        return await due_topics.rest(connection, IdleTopics(keys, awake), scans, moment)


def _tell(context: ScanContext, forum: ScanPlace, verdicts: dict[Verdict, int]) -> None:
    for verdict, topics in verdicts.items():
        if topics:
            named = {"account": context.lane.account.name, "channel": forum.channel, "title": forum.title}
            log.info(LINES[verdict], **named, topics=topics, verdict=verdict.value)
