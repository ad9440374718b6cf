"""Topics that a cycle need not look at one by one: their forum is unchanged, and none of them wants anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import structlog

from tidegate.mirror.scan import Hand
from tidegate.rules.scanning import Change, ScanHabits, Verdict, settle
from tidegate.store import accounts, due, places
from tidegate.store.due import Moment
from tidegate.store.places import Memory, Place

log = structlog.get_logger()

AT_ONCE = 50_000
"""So many topics are stored in one transaction, unless a single forum has more."""

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
    for some in _portions([forum for forum in forums if forum.key in memory.topics], memory):
        await _store(hand, memory, scans, moment, some)
        for forum in some:
            asleep = memory.topics[forum.key].asleep
            settled = {settle(verdict, Change.UNCHANGED): count for verdict, count in asleep.items()}
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
    if forum.key not in memory.topics:
        return []
    wanted = {(forum.key, topic) for topic in memory.topics[forum.key].wanted}
    async with hand.database.connection() as connection:
        found = await places.load_some(
            connection, hand.lane.account.id, wanted,
            failed=memory.failed, habits=hand.retries, now=memory.now, only=[forum.channel],
        )  # fmt: skip
    return [topic for topic in found if not topic.is_whole]


async def _store(hand: Hand, memory: Memory, scans: ScanHabits, moment: Moment, forums: Sequence[Place]) -> None:
    async with hand.database.transaction() as connection:
        await accounts.fence(connection, hand.lane.claim())
        pending = await places.pending(connection, hand.lane.account.id, hand.retries, memory.now)
        keys = {forum.key for forum in forums}
        awake = {at for at, count in pending.items() if count}
        awake |= {(place.key, place.topic) for place in memory.places if place.key in keys}
        readable = [forum.key for forum in forums if forum.memory.readable]
        await due.rest(connection, readable, awake, scans, moment)
        await due.note_unreadable(connection, [forum.key for forum in forums if not forum.memory.readable])


def _portions(forums: Iterable[Place], memory: Memory) -> Iterator[list[Place]]:
    portion: list[Place] = []
    topics = 0
    for forum in forums:
        portion.append(forum)
        topics += memory.topics[forum.key].asleep.total()
        if topics >= AT_ONCE:
            yield portion
            portion, topics = [], 0
    if portion:
        yield portion


def _tell(hand: Hand, forum: Place, verdicts: dict[Verdict, int]) -> None:
    for verdict, topics in verdicts.items():
        if topics:
            named = {"account": hand.lane.account.name, "channel": forum.channel, "title": forum.title}
            log.info(LINES[verdict], **named, topics=topics, verdict=verdict.value)
