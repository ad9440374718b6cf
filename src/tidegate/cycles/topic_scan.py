"""Reading the topics of a forum that the operator follows on their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import structlog

from tidegate.accounts.queries import accounts
from tidegate.core.errors import ENDS_CYCLE, ChannelGone, LongWait, PlatformError
from tidegate.core.ids import TopicId
from tidegate.cycles.channel_scan import PlaceScan, pending_failures, topic_heads
from tidegate.database.pool import now_of
from tidegate.history.ingest import IngestTally, take_in
from tidegate.history.queries import messages
from tidegate.platforms.interface import ChannelUpdates, Head, TooLong, Topic
from tidegate.scans.queries import scan_memory
from tidegate.scans.queries.scan_memory import ScanPlace
from tidegate.scans.rules.call_bounds import SelectedTopic, plan_topics, topics_to_search
from tidegate.scans.rules.scan_decision import SKIPS, GateChange, ScanOutcome, Verdict, after_scan, judge_topic
from tidegate.scans.scan_context import ScanContext

log = structlog.get_logger()


async def read_topics(
    forum: PlaceScan,
    topics: list[ScanPlace],
    change: GateChange,
    takes_turn: Callable[[ScanPlace], bool],
    verdict_of: Callable[[ScanPlace, GateChange], Verdict],
) -> Counter[Verdict]:
    """Search the selected topics that changed, or that are read anyway; the verdict of each is counted.

    The forum's own counter advances only when every search has finished. The changes it passes are read as well,
    because a search shows neither edits nor deletions. Where they are too many, they are marked as unread.
    """
    context = forum.context
    unread = not await _read_changes(forum, {topic.topic for topic in topics}, change)
    selected = {topic.topic: SelectedTopic(topic.memory, its_turn=takes_turn(topic)) for topic in topics}
    plan = plan_topics(selected, change, context.limits)
    found = await _heads(forum, plan.heads)
    newest = {number: topic.newest for number, topic in found.items() if topic.newest is not None and not topic.gone}
    gone = {number for number, topic in found.items() if topic.gone}
    wanted = {*plan.searches, *topics_to_search(selected, plan.heads, newest)} - gone
    verdicts: Counter[Verdict] = Counter()
    complete, resting = True, list[PlaceScan]()
    for topic in topics:
        known = newest.get(topic.topic)
        moved = GateChange.UNCHANGED if change is GateChange.UNCHANGED else judge_topic(topic.memory, known)
        scan = PlaceScan(context, topic, Head(known, None), verdict_of(topic, moved), IngestTally())
        if topic.topic in wanted:
            complete &= await scan.by_search()
        elif topic.topic not in gone:
            resting.append(scan)
        verdicts[scan.verdict] += 1
        forum.tally.add(scan.tally)
    await _rest(context, resting)
    # The forum's watermark and newest message stay: they would include topics that are not read.
    head = Head(None, forum.head.changes, forum.head.channel)
    await _remember(
        replace(forum, head=head),
        ScanOutcome(complete=complete, changes=head.changes, by_search=bool(wanted), unread=unread),
    )
    return verdicts


async def _read_changes(forum: PlaceScan, topics: Collection[TopicId], change: GateChange) -> bool:
    """Apply edits and deletions since the forum's counter, for *topics* only; returns whether all of them were read.

    New messages are left to the searches, so that each topic knows what it has found.
    """
    since, upto = forum.place.memory.changes, forum.head.changes
    if since is None:  # the counter was cleared, and its value then is marked as unread
        return forum.place.memory.unread_upto is None
    if change is GateChange.UNCHANGED or upto is None or upto <= since:
        return True
    if upto - since > forum.context.limits.most_changes:
        return False
    while forum.spend():
        answer = await forum.context.lane.difference(forum.place.channel, since=since, cycle=forum.context.cycle)
        if isinstance(answer, TooLong):
            return False
        edited = [message for message in answer.updates.edited if message.topic in topics]
        async with forum.context.database.transaction() as connection:
            claim = forum.context.lane.claim()
            await accounts.fence(connection, claim)
            await messages.hold(connection, forum.place.key)
            updates = ChannelUpdates(None, edited=edited, deleted=answer.updates.deleted)
            await take_in(connection, forum.place, updates, claim.account, forum.tally)
        if answer.final or answer.updates.upto is None:
            return True
        since = answer.updates.upto
    return False


async def _heads(forum: PlaceScan, wanted: tuple[int, ...]) -> dict[TopicId, Topic]:
    """The newest message of each topic; where the platform does not report it, all are searched: more calls."""
    try:
        return await topic_heads(forum.context, forum.place, wanted)
    except (ChannelGone, LongWait, *ENDS_CYCLE):
        raise
    except PlatformError as problem:
        log.warning("topics.unknown", channel=forum.place.channel, problem=str(problem), next="each is searched")
        return {}


async def _rest(context: ScanContext, resting: Sequence[PlaceScan]) -> None:
    """Store, in one transaction, that these topics have nothing to read; a skipped one was not checked."""
    async with context.database.transaction() as connection:
        await accounts.fence(connection, context.lane.claim())
        now = await now_of(connection)
        await scan_memory.lock(connection, [(scan.place.key, scan.place.topic) for scan in resting])
        pending = await scan_memory.pending(connection, context.lane.account.id, context.retries, now)
        scanned, skipped = {}, {}
        for scan in resting:
            at = (scan.place.key, scan.place.topic)
            outcome = ScanOutcome(complete=True, newest=scan.head.newest, failures_pending=pending[at])
            if scan.verdict in SKIPS:
                skipped[at] = scan.verdict
            else:
                scanned[at] = (after_scan(scan.place.memory, outcome, now=now), scan.verdict)
        await scan_memory.remember(connection, scanned)
        await scan_memory.note_verdicts(connection, skipped)


async def _remember(scan: PlaceScan, outcome: ScanOutcome) -> None:
    async with scan.context.database.transaction() as connection:
        await accounts.fence(connection, scan.context.lane.claim())
        pending = await pending_failures(connection, scan.place, scan.context.retries)
        now = await now_of(connection)
        outcome = replace(outcome, archives_found=scan.tally.files, failures_pending=pending)
        memory = after_scan(scan.place.memory, outcome, now=now)
        await scan_memory.remember(connection, {(scan.place.key, scan.place.topic): (memory, scan.verdict)})
