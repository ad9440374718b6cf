"""Reads a channel or topic after the gate, page by page: the changes since the last scan, or a search for documents.

Invariant: page-and-progress-together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import structlog

from tidegate.accounts.queries import accounts
from tidegate.archives.queries import failures
from tidegate.archives.rules.retry import RetryPolicy, keeps_awake
from tidegate.channels.queries import channels, message_counts
from tidegate.channels.queries.channels import NO_TOPIC
from tidegate.channels.queries.message_counts import PlatformCount
from tidegate.channels.rules.message_counts import Changes, MessageCounter
from tidegate.core.ids import MessageId, Span, TopicId
from tidegate.core.platform_call import IDS_A_CALL
from tidegate.database.pool import Connection, now_of
from tidegate.events.kinds.channels import ChannelRead
from tidegate.events.queries import feed
from tidegate.history.deletion_check import Recalled, lacking, recall
from tidegate.history.ingest import IngestTally, take_in
from tidegate.history.queries import coverage, messages
from tidegate.history.rules.coverage import START, Content, Coverage
from tidegate.history.rules.page_proof import proven, unbroken
from tidegate.history.rules.page_request import PageAsked, next_page
from tidegate.media import avatars
from tidegate.platforms.interface import ChannelUpdates, Difference, FilePage, FileSearch, Head, TooLong, Topic
from tidegate.scans.queries import scan_memory, topic_titles
from tidegate.scans.queries.scan_memory import ScanPlace
from tidegate.scans.rules.call_bounds import ReadPlan
from tidegate.scans.rules.scan_decision import INDEX_LAG, ScanMemory, ScanOutcome, Verdict, after_scan, search_above
from tidegate.scans.scan_context import ScanContext

log = structlog.get_logger()

Spans = Mapping[Content, Span | None]


@dataclass(slots=True)
class PlaceScan:
    """One place being read. *head* is its head before the first call, *spent* the number of calls since then.

    *counted* is the number of documents that a search reported; it is stored with the page that reported it.
    *history_brings_all* where the pages of the history, which are read next, show every document too.
    """

    context: ScanContext
    place: ScanPlace
    head: Head
    verdict: Verdict
    tally: IngestTally
    spent: int = 0
    counted: PlatformCount | None = None
    history_brings_all: bool = False

    def spend(self) -> bool:
        """Whether this place's budget has room for one more call; if so, count it."""
        if self.spent >= self.context.limits.pages_a_turn:
            return False
        self.spent += 1
        return True

    # Changes since the last scan

    async def by_difference(self) -> bool:
        """Read everything that happened since the stored counter; True when nothing is left.

        A platform that no longer lists each change leaves a gap, which is read by a search. A message stored from a
        push update and then deleted within a gap is in no difference. So stored messages that a difference does not
        mention are requested by number. So are numbers that the counter says were posted but that did not arrive.
        """
        memory = self.place.memory
        reported = Changes(memory.newest_seen, memory.changes or 0)
        async with self.context.database.connection() as connection:
            unseen = set(await messages.above(connection, self.place.key, memory.newest_seen))
        while self.spend():
            assert memory.changes is not None
            lane = self.context.lane
            answer = await lane.difference(self.place.channel, since=memory.changes, cycle=self.context.cycle)
            if isinstance(answer, TooLong):
                self.head = answer.head
                return await self.by_search(settled=True)
            reported = reported.with_answer(
                [one.id for one in answer.updates.posted],
                answer.updates.deleted,
                answer.updates.upto,
                answer.updates.steps,
            )
            recalled = await self._recall(memory, answer, unseen, reported)
            if recalled is None:
                break
            memory = await self._keep_difference(memory, answer.updates, recalled, final=answer.final)
            if answer.final:
                return True
        await self.give_up()
        return False

    async def _recall(
        self, memory: ScanMemory, answer: Difference, unseen: set[MessageId], reported: Changes
    ) -> Recalled | None:
        """Request the messages a difference lacks; None when this place's budget has no call left.

        Of numbers that were never stored, only existing messages count: the others need not be fetched.
        """
        updates = answer.updates
        async with self.context.database.connection() as connection:
            span = unbroken(memory.newest_seen, max(reported.posted, default=0))
            missing = await lacking(
                connection, self.place.key, span, updates.posted, reported.posted | reported.deleted
            )
        if answer.final:
            missing |= unseen - reported.posted - reported.deleted
        lost = set(reported.lost(most=IDS_A_CALL)) if answer.final else set()
        for _ in range(-(-len(missing | lost) // IDS_A_CALL)):
            if not self.spend():
                return None
        found = await recall(self.context.lane, self.place.channel, missing | lost, cycle=self.context.cycle)
        # A lost message may be arriving as a push update now, so it does not count as asked for.
        return replace(found, asked=frozenset(missing), gone=found.gone & missing)

    async def _keep_difference(
        self, memory: ScanMemory, updates: ChannelUpdates, recalled: Recalled, *, final: bool
    ) -> ScanMemory:
        """Store an answer. Messages that arrived as push updates and are missing from it are requested first."""
        newest = max([memory.newest_seen, *(message.id for message in updates.posted)])
        seen = unbroken(memory.newest_seen, newest)
        reached = replace(memory, changes=updates.upto, newest_seen=newest, watermark=max(memory.watermark, newest))
        done = ScanOutcome(complete=True, newest=max(newest, self.head.newest or 0), changes=updates.upto)
        while True:
            found, gone = recalled.found, sorted(recalled.gone)
            whole = replace(updates, posted=[*updates.posted, *found], deleted=[*updates.deleted, *gone])
            spans = dict.fromkeys(Content, seen)
            unasked = await self._commit(reached, whole, spans, done if final else None, asked=recalled.asked)
            if not unasked:
                return reached
            recalled |= await recall(self.context.lane, self.place.channel, unasked, cycle=self.context.cycle)

    # Documents

    async def by_search(self, *, settled: bool = False) -> bool:
        """Search for documents from the newest down to the watermark; True when nothing is left.

        What an earlier search covered above the watermark is not read again. A search index may lack the newest
        messages for a while. So the stored counter lies a little back, unless the platform's head is *settled*.
        """
        memory, place = self.place.memory, self.place
        if not self.context.lane.searches_files or place.private_chat or self.history_brings_all:
            await self._end_unsearched()
            return True
        above = search_above(memory)
        start = above + 1 if above else START
        top = max(memory.newest_seen, self.head.newest or 0)
        async with self.context.database.connection() as connection:
            stored = (await coverage.load(connection, place.key, place.topic))[Content.DOCUMENTS]
        known = _resumed(_without(stored, Span(start, memory.watermark)), top, memory.watermark)
        asked = next_page(known, head=top, start=start)
        if asked is None:
            await self._end_search(ChannelUpdates(None), Span(start, top), settled=settled)
        while asked is not None and self.spend():
            page = await search_page(self.context, place, asked)
            updates, ids = ChannelUpdates(None, posted=page.messages), [message.id for message in page.messages]
            top = max([top, *ids])
            if asked.bound is None:
                self.counted = counted_documents(place, page, top, above=asked.floor)
            span = proven(asked, ids, head=top, ended=page.ended, may_read=True)
            known = known.with_span(span)
            asked = next_page(known, head=top, start=start)
            if asked is None:
                await self._end_search(updates, Span(start, top), settled=settled)
            else:
                await self._commit(memory, updates, {Content.DOCUMENTS: _indexed(span, top - INDEX_LAG)}, None)
        if asked is not None:
            await self.give_up()
        return asked is None

    async def _end_unsearched(self) -> None:
        """Store the head alone, because the pages of the history bring all: where no search is needed, or possible."""
        newest = max(self.place.memory.newest_seen, self.head.newest or 0)
        done = ScanOutcome(complete=True, newest=newest, changes=self.head.changes, unread=True)
        await self._commit(self.place.memory, ChannelUpdates(None), {}, done)

    async def _end_search(self, updates: ChannelUpdates, covered: Span, *, settled: bool) -> None:
        done = ScanOutcome(
            complete=True, newest=covered.high, changes=self.head.changes, by_search=not settled, unread=True
        )
        await self._commit(self.place.memory, updates, {Content.DOCUMENTS: covered}, done)

    # Storage

    async def give_up(self) -> None:
        """Store a scan that did not finish: the next cycle continues where the coverage ends."""
        async with self.context.database.transaction() as connection:
            await accounts.fence(connection, self.context.lane.claim())
            await self._remember(connection, await self._stored_memory(connection), ScanOutcome(complete=False))

    async def _stored_memory(self, connection: Connection) -> ScanMemory:
        """The memory with the progress that pages of this scan have committed."""
        rows = await scan_memory.shown(connection, self.place.key)
        return next(scan_memory.memory_of(row) for row in rows if row["topic"] == self.place.topic)

    async def _commit(
        self,
        memory: ScanMemory,
        updates: ChannelUpdates,
        spans: Spans,
        done: ScanOutcome | None,
        *,
        asked: Collection[MessageId] | None = None,
    ) -> set[MessageId]:
        """Commit one page: its rows, its coverage, the place's progress and the event, all or nothing.

        Returns the missing messages that were not *asked* for by number; then nothing is stored.
        """
        place, before = self.place, (self.tally.messages, self.tally.archives)
        async with self.context.database.transaction() as connection:
            claim = self.context.lane.claim()
            await accounts.fence(connection, claim)
            await messages.hold(connection, place.key)  # push updates of the channel wait for what this page proves
            unasked = set() if asked is None else await self._unasked(connection, memory, updates, spans, asked)
            if unasked:
                return unasked
            await take_in(connection, place, updates, claim.account, self.tally)
            await coverage.add(connection, place.key, spans, place.topic)
            if self.counted is not None:
                await message_counts.store(connection, self.context.lane.account.platform, [self.counted])
                self.counted = None
            if done is None:
                await scan_memory.remember(connection, {(place.key, place.topic): (memory, None)})
            else:
                await self._remember(connection, memory, done)
            if before != (self.tally.messages, self.tally.archives):
                read = ChannelRead(
                    channel=place.channel,
                    topic=place.topic or None,
                    messages=self.tally.messages - before[0],
                    archives=self.tally.archives - before[1],
                    channel_key=place.key,
                )
                await feed.record(connection, place.title, read)
        return set()

    async def _unasked(
        self,
        connection: Connection,
        memory: ScanMemory,
        updates: ChannelUpdates,
        spans: Spans,
        asked: Collection[MessageId],
    ) -> set[MessageId]:
        """Messages missing from a difference that were not *asked* for, including those push updates brought above it.

        They may have been deleted before the difference was answered. Then no later answer mentions them.
        """
        missing = await lacking(
            connection, self.place.key, spans.get(Content.MESSAGES), updates.posted, updates.deleted
        )
        above: set[MessageId] = set(await messages.above(connection, self.place.key, memory.newest_seen))
        return (missing | above) - {message.id for message in updates.posted} - set(updates.deleted) - set(asked)

    async def _remember(self, connection: Connection, memory: ScanMemory, done: ScanOutcome) -> None:
        if self.place.is_described_differently(self.head.channel):
            await channels.describe(connection, self.place.key, self.head.channel)
            await avatars.note_channels(connection, self.context.lane.account.platform, [self.head.channel])
        pending = await pending_failures(connection, self.place, self.context.retries)
        outcome = replace(done, archives_found=self.tally.files, failures_pending=pending)
        now = await now_of(connection)
        memories = {(self.place.key, self.place.topic): (after_scan(memory, outcome, now=now), self.verdict)}
        await scan_memory.remember(connection, memories)


async def search_page(context: ScanContext, place: ScanPlace, asked: PageAsked) -> FilePage:
    """One page of a search for the documents of a place."""
    search = FileSearch(
        before=None if asked.bound is None else MessageId(asked.bound),
        above=None if asked.floor is None else MessageId(asked.floor),
        topic=None if place.is_channel else TopicId(place.topic),
    )
    return await context.lane.files(place.channel, search, cycle=context.cycle)


def counted_documents(place: ScanPlace, page: FilePage, upto: int, *, above: int | None) -> PlatformCount | None:
    """How many documents a search of a place counts above *above*, up to the newest message *upto*."""
    if page.total is None:
        return None
    return PlatformCount(place.channel, MessageCounter.DOCUMENTS, page.total, upto, above=above or 0, topic=place.topic)


def _indexed(span: Span | None, top: int) -> Span | None:
    """The part of a range that the search index certainly includes: nothing above *top*."""
    return Span(span.low, min(span.high, top)) if span is not None and span.low <= top else None


def _without(known: Coverage, span: Span) -> Coverage:
    """Coverage with a range removed, because it has to be read once more."""
    pieces = []
    for low, high in known.spans:
        if low < span.low:
            pieces.append((low, min(high, span.low - 1)))
        if high > span.high:
            pieces.append((max(low, span.high + 1), high))
    return Coverage.of(pieces)


def _resumed(known: Coverage, top: int, watermark: int) -> Coverage:
    """Coverage for a search that continues after an interruption.

    Its first page was stored without the newest numbers, because the index may have lacked them. If nothing was posted
    since, they are not searched again now: the counter stored at the end lies below them.
    """
    settled = top - INDEX_LAG
    is_resumed = any(span.high == settled > watermark for span in known.spans[-1:])
    return known.with_span(Span(settled + 1, top)) if is_resumed else known


async def pending_failures(connection: Connection, place: ScanPlace, policy: RetryPolicy) -> int:
    """How many failures of a place may still succeed on retry, counted in the transaction that stores it."""
    await scan_memory.lock(connection, [(place.key, place.topic)])
    now = await now_of(connection)
    failed = await failures.of_channel(connection, place.key)
    return sum((place.topic in (NO_TOPIC, one.topic)) and keeps_awake(one.failure, policy, now) for one in failed)


async def read_channel(scan: PlaceScan, reading: ReadPlan) -> bool:
    """Read a channel as planned, then fetch the titles of topics it showed for the first time."""
    done = await (scan.by_difference() if reading is ReadPlan.DIFFERENCE else scan.by_search())
    await name_topics(scan)
    return done


async def name_topics(scan: PlaceScan) -> None:
    """Request the titles of topics that no message named; those beyond the budget wait for their next message."""
    wanted = sorted(scan.tally.untitled)
    for start in range(0, len(wanted), IDS_A_CALL):
        if not scan.spend():
            return
        batch = wanted[start : start + IDS_A_CALL]
        answer = await scan.context.lane.topics_by_id(scan.place.channel, batch, cycle=scan.context.cycle)
        async with scan.context.database.transaction() as connection:
            await accounts.fence(connection, scan.context.lane.claim())
            await topic_titles.name_topics(connection, scan.place.key, answer.values())


async def topic_heads(context: ScanContext, place: ScanPlace, wanted: tuple[int, ...]) -> dict[TopicId, Topic]:
    """The platform's heads of selected topics, many in one call, stored where they are new."""
    found: dict[TopicId, Topic] = {}
    for start in range(0, len(wanted), context.limits.heads_batch):
        batch = [TopicId(number) for number in wanted[start : start + context.limits.heads_batch]]
        answer = await context.lane.topics_by_id(place.channel, batch, cycle=context.cycle)
        found |= {topic.id: topic for topic in answer.values()}
    async with context.database.transaction() as connection:
        await accounts.fence(connection, context.lane.claim())
        await topic_titles.name_topics(connection, place.key, found.values())
    return found
