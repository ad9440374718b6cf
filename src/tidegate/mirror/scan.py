"""Reading a channel or topic after the gate: the changes since, or a search for documents; page by page (law 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tidegate.errors import Banned, NotOurs, SignedOut
from tidegate.lanes import Lane
from tidegate.mirror.intake import Tally, take_in, with_vanished
from tidegate.port import Head, MessageId, News, TooLong, Topic, TopicId
from tidegate.rules.history import (
    START,
    Content,
    Coverage,
    PageAsked,
    Span,
    next_page,
    proven,
    unbroken,
)
from tidegate.rules.planning import CallLimits, Reading
from tidegate.rules.retrying import RetryHabits, keeps_awake
from tidegate.rules.scanning import UNSETTLED, ScanMemory, ScanOutcome, Verdict, after_scan, search_above
from tidegate.store import accounts, channels, coverage, failures, feed, messages, places
from tidegate.store.channels import WHOLE
from tidegate.store.database import Connection, Database
from tidegate.store.places import Place

IDS_A_CALL = 100

FINAL = (NotOurs, SignedOut, Banned)
"""What ends a whole cycle; any other trouble of a platform ends only the scan it came up in."""

Spans = Mapping[Content, Span | None]


@dataclass(frozen=True, slots=True)
class Hand:
    """What a scan works with: the account's lane, the store, and the number of the cycle it is for, if any."""

    lane: Lane
    database: Database
    cycle: int | None
    limits: CallLimits
    retries: RetryHabits


@dataclass(slots=True)
class Scan:
    """One place being read. *head* is what was known of it before the first call, *spent* the calls since then."""

    hand: Hand
    place: Place
    head: Head
    verdict: Verdict
    tally: Tally
    spent: int = 0

    def spend(self) -> bool:
        """Whether one more call fits into this place's turn, and if so count it."""
        if self.spent >= self.hand.limits.pages_a_turn:
            return False
        self.spent += 1
        return True

    # The changes since

    async def by_difference(self) -> bool:
        """Read everything that happened since the stored counter; True when nothing is left.

        A platform that no longer tells each change leaves a gap, which is read by a search. What was told live behind
        a gap and deleted within it is in no difference, neither posted nor deleted: it is gone when it was stored
        before the first question and no answer shows it.
        """
        memory = self.place.memory
        async with self.hand.database.connection() as connection:
            unseen = set(await messages.above(connection, self.place.key, memory.newest_seen))
        while self.spend():
            assert memory.changes is not None
            lane = self.hand.lane
            answer = await lane.difference(self.place.channel, since=memory.changes, cycle=self.hand.cycle)
            if isinstance(answer, TooLong):
                self.head = answer.head
                return await self.by_search(settled=True)
            unseen -= {message.id for message in answer.news.posted}
            deleted = [*answer.news.deleted, *(sorted(unseen) if answer.final else ())]
            memory = await self._keep_difference(memory, replace(answer.news, deleted=deleted), final=answer.final)
            if answer.final:
                return True
        await self.give_up()
        return False

    async def _keep_difference(self, memory: ScanMemory, news: News, *, final: bool) -> ScanMemory:
        newest = max([memory.newest_seen, *(message.id for message in news.posted)])
        seen = unbroken(memory.newest_seen, newest)
        reached = replace(memory, changes=news.upto, newest_seen=newest, watermark=max(memory.watermark, newest))
        done = ScanOutcome(complete=True, newest=max(newest, self.head.newest or 0), changes=news.upto)
        await self._commit(reached, news, dict.fromkeys(Content, seen), done if final else None)
        return reached

    # The documents

    async def by_search(self, *, settled: bool = False) -> bool:
        """Search for documents from the newest down to the watermark; True when nothing is left.

        What an earlier walk has read above the watermark is not read again. A search index may be slow to know the
        newest messages, so the counter that is stored lies a little back, unless the platform's word is *settled*.
        """
        memory, place = self.place.memory, self.place
        above = search_above(memory)
        start = above + 1 if above else START
        top = max(memory.newest_seen, self.head.newest or 0)
        async with self.hand.database.connection() as connection:
            stored = (await coverage.load(connection, place.key, place.topic))[Content.DOCUMENTS]
        known = _without(stored, Span(start, memory.watermark))
        asked = next_page(known, head=top, start=start)
        if asked is None:
            await self._end_search(News(None), Span(start, top), settled=settled)
        while asked is not None and self.spend():
            news, ended = await self._search_page(asked)
            ids = [message.id for message in news.posted]
            top = max([top, *ids])
            span = proven(asked, ids, head=top, ended=ended, may_read=True)
            known = known.with_span(span)
            asked = next_page(known, head=top, start=start)
            if asked is None:
                await self._end_search(news, Span(start, top), settled=settled)
            else:
                await self._commit(memory, news, {Content.DOCUMENTS: _settled(span, top - UNSETTLED)}, None)
        if asked is not None:
            await self.give_up()
        return asked is None

    async def _search_page(self, asked: PageAsked) -> tuple[News, bool]:
        page = await self.hand.lane.files(
            self.place.channel,
            before=None if asked.bound is None else MessageId(asked.bound),
            above=None if asked.floor is None else MessageId(asked.floor),
            topic=None if self.place.is_whole else TopicId(self.place.topic),
            cycle=self.hand.cycle,
        )
        return News(None, posted=page.messages), page.ended

    async def _end_search(self, news: News, covered: Span, *, settled: bool) -> None:
        done = ScanOutcome(complete=True, newest=covered.high, changes=self.head.changes, by_search=not settled)
        await self._commit(self.place.memory, news, {Content.DOCUMENTS: covered}, done)

    # Storing

    async def give_up(self) -> None:
        """Remember a scan that did not reach its end: the next cycle goes on where the coverage ends."""
        async with self.hand.database.transaction() as connection:
            await accounts.fence(connection, self.hand.lane.claim())
            await self._remember(connection, await self._stored_memory(connection), ScanOutcome(complete=False))

    async def _stored_memory(self, connection: Connection) -> ScanMemory:
        """The memory with the progress that pages of this scan have committed."""
        rows = await places.shown(connection, self.place.key)
        return next(places.memory_of(row) for row in rows if row["topic"] == self.place.topic)

    async def _commit(self, memory: ScanMemory, news: News, spans: Spans, done: ScanOutcome | None) -> None:
        """One page: its rows, its coverage, the place's progress and the event, all or nothing."""
        place, before = self.place, (self.tally.messages, self.tally.archives)
        async with self.hand.database.transaction() as connection:
            claim = self.hand.lane.claim()
            await accounts.fence(connection, claim)
            await messages.hold(connection, place.key)  # live news of the channel waits, and sees what this page proves
            news = await with_vanished(connection, place.key, news, spans.get(Content.MESSAGES))
            await take_in(connection, place, news, claim.account, self.tally)
            await coverage.add(connection, place.key, spans, place.topic)
            if done is None:
                await places.remember(connection, {(place.key, place.topic): (memory, None)})
            else:
                await self._remember(connection, memory, done)
            if before != (self.tally.messages, self.tally.archives):
                told = {
                    "channel": place.channel,
                    "topic": place.topic or None,
                    "messages": self.tally.messages - before[0],
                    "archives": self.tally.archives - before[1],
                }
                await feed.record(connection, "channel.read", place.title, told)

    async def _remember(self, connection: Connection, memory: ScanMemory, done: ScanOutcome) -> None:
        if self.place.told_otherwise(self.head.channel):
            await channels.describe(connection, self.place.key, self.head.channel)
        pending = await pending_failures(connection, self.place, self.hand.retries)
        outcome = replace(done, archives_found=self.tally.files, failures_pending=pending)
        now = await connection.fetchval("SELECT clock_now()")
        told = {(self.place.key, self.place.topic): (after_scan(memory, outcome, now=now), self.verdict)}
        await places.remember(connection, told)


def _settled(span: Span | None, top: int) -> Span | None:
    """What of a stretch a search is sure to have known: nothing above *top*."""
    return Span(span.low, min(span.high, top)) if span is not None and span.low <= top else None


def _without(known: Coverage, span: Span) -> Coverage:
    """Coverage with a stretch cut out, because it has to be read once more."""
    pieces = []
    for low, high in known.spans:
        if low < span.low:
            pieces.append((low, min(high, span.low - 1)))
        if high > span.high:
            pieces.append((max(low, span.high + 1), high))
    return Coverage.of(pieces)


async def pending_failures(connection: Connection, place: Place, habits: RetryHabits) -> int:
    """How many failures of a place may still succeed by themselves, counted in the transaction that stores it."""
    now = await connection.fetchval("SELECT clock_now()")
    failed = await failures.of_channel(connection, place.key)
    return sum((place.topic in (WHOLE, one.topic)) and keeps_awake(one.failure, habits, now) for one in failed)


async def read_channel(scan: Scan, reading: Reading) -> bool:
    """Read a channel as planned, then learn the titles of topics it showed for the first time."""
    done = await (scan.by_difference() if reading is Reading.DIFFERENCE else scan.by_search())
    await name_topics(scan)
    return done


async def name_topics(scan: Scan) -> None:
    """Ask what topics are called that no message has told the title of; beyond the turn, with their next message."""
    wanted = sorted(scan.tally.untitled)
    for start in range(0, len(wanted), IDS_A_CALL):
        if not scan.spend():
            return
        batch = wanted[start : start + IDS_A_CALL]
        told = await scan.hand.lane.topics_by_id(scan.place.channel, batch, cycle=scan.hand.cycle)
        async with scan.hand.database.transaction() as connection:
            await accounts.fence(connection, scan.hand.lane.claim())
            await places.name_topics(connection, scan.place.key, told.values())


async def topic_heads(hand: Hand, place: Place, wanted: tuple[int, ...]) -> dict[int, Topic]:
    """What the platform says of selected topics, many to a call, stored where it says something new."""
    found: dict[int, Topic] = {}
    for start in range(0, len(wanted), hand.limits.heads_batch):
        batch = [TopicId(number) for number in wanted[start : start + hand.limits.heads_batch]]
        told = await hand.lane.topics_by_id(place.channel, batch, cycle=hand.cycle)
        found |= {topic.id: topic for topic in told.values()}
    async with hand.database.transaction() as connection:
        await accounts.fence(connection, hand.lane.claim())
        await places.name_topics(connection, place.key, found.values())
    return found
