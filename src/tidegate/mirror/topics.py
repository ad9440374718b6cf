"""Reading the topics of a forum that the operator follows on their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import structlog

from tidegate.errors import ChannelGone, PlatformError
from tidegate.mirror.intake import Tally
from tidegate.mirror.scan import FINAL, Hand, Scan, pending_failures, topic_heads
from tidegate.port import Head, Topic
from tidegate.rules.planning import SelectedTopic, plan_topics, topics_to_search
from tidegate.rules.scanning import SKIPS, Change, ScanOutcome, Verdict, after_scan, judge_topic
from tidegate.store import accounts, places
from tidegate.store.places import Place

log = structlog.get_logger()


async def read_topics(
    forum: Scan,
    topics: list[Place],
    change: Change,
    takes_turn: Callable[[Place], bool],
    settled: Callable[[Place, Change], Verdict],
) -> Counter[Verdict]:
    """Search the selected topics that moved, or that are read anyway; the verdict of each is counted.

    The forum's own counter moves on only when every search has reached its end.
    """
    hand = forum.hand
    selected = {topic.topic: SelectedTopic(topic.memory, its_turn=takes_turn(topic)) for topic in topics}
    plan = plan_topics(selected, change, hand.limits)
    told = await _heads(forum, plan.heads)
    newest = {number: topic.newest for number, topic in told.items() if topic.newest is not None and not topic.gone}
    gone = {number for number, topic in told.items() if topic.gone}
    wanted = {*plan.searches, *topics_to_search(selected, plan.heads, newest)} - gone
    verdicts: Counter[Verdict] = Counter()
    complete, resting = True, list[Scan]()
    for topic in topics:
        known = newest.get(topic.topic)
        moved = Change.UNCHANGED if change is Change.UNCHANGED else judge_topic(topic.memory, known)
        scan = Scan(hand, topic, Head(known, None), settled(topic, moved), Tally())
        if topic.topic in wanted:
            complete &= await scan.by_search()
        elif topic.topic not in gone:
            resting.append(scan)
        verdicts[scan.verdict] += 1
        forum.tally.add(scan.tally)
    await _rest(hand, resting)
    # The forum's watermark and newest message stay: they would speak for topics that nobody reads.
    head = Head(None, forum.head.changes, forum.head.channel)
    await _remember(
        replace(forum, head=head), ScanOutcome(complete=complete, changes=head.changes, by_search=bool(wanted))
    )
    return verdicts


async def _heads(forum: Scan, wanted: tuple[int, ...]) -> dict[int, Topic]:
    """The newest message of each topic; where the platform does not tell, all are searched, which costs more."""
    try:
        return await topic_heads(forum.hand, forum.place, wanted)
    except (ChannelGone, *FINAL):
        raise
    except PlatformError as problem:
        log.warning("topics.unknown", channel=forum.place.channel, problem=str(problem), next="each is searched")
        return {}


async def _rest(hand: Hand, resting: Sequence[Scan]) -> None:
    """Store, in one transaction, that these topics have nothing to read; one that was skipped was not looked at."""
    async with hand.database.transaction() as connection:
        await accounts.fence(connection, hand.lane.claim())
        now = await connection.fetchval("SELECT clock_now()")
        pending = await places.pending(connection, hand.lane.account.id, hand.retries, now)
        told, skipped = {}, {}
        for scan in resting:
            at = (scan.place.key, scan.place.topic)
            outcome = ScanOutcome(complete=True, newest=scan.head.newest, failures_pending=pending[at])
            if scan.verdict in SKIPS:
                skipped[at] = scan.verdict
            else:
                told[at] = (after_scan(scan.place.memory, outcome, now=now), scan.verdict)
        await places.remember(connection, told)
        await places.note_verdicts(connection, skipped)


async def _remember(scan: Scan, outcome: ScanOutcome) -> None:
    async with scan.hand.database.transaction() as connection:
        await accounts.fence(connection, scan.hand.lane.claim())
        pending = await pending_failures(connection, scan.place, scan.hand.retries)
        now = await connection.fetchval("SELECT clock_now()")
        outcome = replace(outcome, archives_found=scan.tally.files, failures_pending=pending)
        memory = after_scan(scan.place.memory, outcome, now=now)
        await places.remember(connection, {(scan.place.key, scan.place.topic): (memory, scan.verdict)})
