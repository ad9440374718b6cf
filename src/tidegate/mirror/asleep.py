"""Topics that a cycle need not look at one by one: their forum is unchanged, and none of them wants anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import structlog

from tidegate.mirror.scan import Hand
from tidegate.rules.scanning import Change, ScanHabits, Verdict, settle
from tidegate.store import accounts, due, places
from tidegate.store.due import Moment, Sleepers
from tidegate.store.places import Memory, Place

log = structlog.get_logger()

FORUMS_AT_ONCE = 50
"""So many forums' topics are stored in one transaction."""

LINES = {
    Verdict.FRESH: "Skipping recently-scanned idle channel",
    Verdict.COLD: "Skipping cold channel, not its turn",
    # The seed said "Channel caught up via getChat", which was a look into a cache. The gate asks the server itself.
    Verdict.UNCHANGED: "Channel caught up via the gate",
    Verdict.UNREADABLE: "Skipping channel that no account can read",
}
"""The log lines the seed's operators look for; the verdict is a field of each."""


async def rest_asleep(
    hand: Hand, memory: Memory, scans: ScanHabits, moment: Moment, forums: Iterable[Place]
) -> Counter[Verdict]:
    """Store what becomes of the sleeping topics of unchanged forums, many in one go; returns their verdicts.

    One log line tells of all topics of a forum that have the same verdict.
    """
    told: Counter[Verdict] = Counter()
    by_topic = [forum for forum in forums if forum.by_topic]
    for start in range(0, len(by_topic), FORUMS_AT_ONCE):
        some = by_topic[start : start + FORUMS_AT_ONCE]
        asleep = await _store(hand, memory, scans, moment, some)
        for forum in some:
            settled = {settle(verdict, Change.UNCHANGED): count for verdict, count in asleep[forum.key].items()}
            told.update(settled)
            _tell(hand, forum, settled)
    return told


async def wake_all(hand: Hand, forum: Place) -> list[Place]:
    """Every topic of a forum that is followed on its own."""
    async with hand.database.connection() as connection:
        known = await places.load(connection, hand.lane.account.id, hand.retries, only=[forum.channel])
    return [topic for topic in known.places if not topic.is_whole]


async def wake_wanted(hand: Hand, memory: Memory, forum: Place) -> list[Place]:
    """The topics of a forum that are read whatever the gate says."""
    wanted = {(forum.key, topic) for topic in memory.wanted.get(forum.key, ())}
    if not wanted:
        return []
    async with hand.database.connection() as connection:
        found = await places.load_some(
            connection, hand.lane.account.id, wanted,
            failed=memory.failed, habits=hand.retries, now=memory.now, only=[forum.channel],
        )  # fmt: skip
    return [topic for topic in found if not topic.is_whole]


async def _store(
    hand: Hand, memory: Memory, scans: ScanHabits, moment: Moment, forums: Sequence[Place]
) -> Mapping[int, Counter[Verdict]]:
    """Store the portion; returns the verdicts its topics had before the gate answered, by the key of their forum."""
    async with hand.database.transaction() as connection:
        await accounts.fence(connection, hand.lane.claim())
        pending = await places.pending(connection, hand.lane.account.id, hand.retries, memory.now)
        keys = {forum.key for forum in forums}
        awake = {at for at, count in pending.items() if count}
        awake |= {(place.key, place.topic) for place in memory.places if place.key in keys}
        return await due.rest(connection, Sleepers(keys, awake), scans, moment)


def _tell(hand: Hand, forum: Place, verdicts: dict[Verdict, int]) -> None:
    for verdict, topics in verdicts.items():
        if topics:
            named = {"account": hand.lane.account.name, "channel": forum.channel, "title": forum.title}
            log.info(LINES[verdict], **named, topics=topics, verdict=verdict.value)
