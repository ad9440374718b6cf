"""News that the platform tells by itself, stored at once and without a call (law 4).

What follows on the stored counter moves it on, as a difference would. Where something is missing before it, it is
stored and proves nothing: its channel is then looked at soon, and the gate is the truth.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import structlog
from prometheus_client import Counter

from tidegate.clock import Clock
from tidegate.errors import NotOurs, PlatformError
from tidegate.lanes import Lane
from tidegate.mirror.cycle import CycleHabits
from tidegate.mirror.desk import Desk
from tidegate.mirror.intake import Tally, take_in, with_vanished
from tidegate.mirror.scan import FINAL, Hand, Scan, name_topics
from tidegate.port import ChannelId, Head, Hint, Message, MessageId, News
from tidegate.rules.following import Followed, Step, follow
from tidegate.rules.history import Content, Span, unbroken
from tidegate.rules.scanning import Verdict
from tidegate.store import accounts, archives, channels, coverage, feed, live, messages, places
from tidegate.store.database import AWAY, Connection, Database
from tidegate.store.live import Counted
from tidegate.store.places import Place

log = structlog.get_logger()

AT_ONCE = 1_000
"""The most pieces of news that are stored together; what came beyond them is next."""

_LOST = Counter(
    "tidegate_hints_lost_total", "How often news may have been missed, so that every channel was looked at."
)


class Live:
    """One account's live news: heard as it comes, stored together with what came meanwhile."""

    def __init__(
        self, lane: Lane, database: Database, clock: Clock, habits: CycleHabits, desk: Desk, *, pause: timedelta
    ) -> None:
        """*pause* is how long to wait while this worker has no beat; then the news is there again."""
        self._lane = lane
        self._database = database
        self._clock = clock
        self._habits = habits
        self._desk = desk
        self._pause = pause
        self._heard: list[Hint] = []
        self._hears = asyncio.Event()
        self.is_up = True

    async def run(self) -> None:
        """Store what the platform tells for as long as it tells anything; cancelled with the account's work."""
        listening = asyncio.create_task(self._listen(), name=f"hints of {self._lane.account.name}")
        try:
            while self.is_up or self._heard:
                await self._hears.wait()
                self._hears.clear()
                while self._heard:
                    heard, self._heard = self._heard[:AT_ONCE], self._heard[AT_ONCE:]
                    await self._store(heard)
            await listening
        finally:
            listening.cancel()
            await asyncio.wait([listening])

    async def _listen(self) -> None:
        while self.is_up:
            try:
                hint = await self._lane.hint()
                self._heard.append(hint)
            except NotOurs:  # no beat just now; when it is back, so are the hints
                await self._clock.sleep(self._pause)
            except PlatformError as problem:
                log.debug("hints.ended", account=self._lane.account.name, problem=str(problem))
                self.is_up = False
            self._hears.set()

    async def _store(self, heard: Sequence[Hint]) -> None:
        """Store what has news, and have the rest looked at; what cannot be stored now is read by that look."""
        news: dict[ChannelId, list[News]] = {}
        for hint in heard:
            if hint.channel is not None and hint.news is not None:
                news.setdefault(hint.channel, []).append(hint.news)
            else:
                _LOST.inc(hint.channel is None)
                self._desk.hint(hint.channel)
        for channel, told in news.items():
            try:
                await self._store_channel(channel, told)
            except (NotOurs, *AWAY) as problem:
                log.info("news.not_stored", channel=channel, problem=str(problem), next="the channel is looked at")
                self._desk.hint(channel)

    async def _store_channel(self, channel: ChannelId, told: Sequence[News]) -> None:
        stored = await take_news(self._lane, self._database, channel, told, self._habits)
        if stored is None:
            return
        if stored.is_gap:
            log.info("news.gap", account=self._lane.account.name, channel=channel, title=stored.place.title)
            self._desk.hint(channel)
        if stored.tally.files:
            self._desk.note_archives()
        if stored.tally.untitled:
            await self._name_topics(stored)

    async def _name_topics(self, stored: Stored) -> None:
        """Ask for the titles of topics whose first message was missed; the daily listing knows them otherwise."""
        hand = Hand(self._lane, self._database, stored.cycle, self._habits.limits, self._habits.retries)
        try:
            await name_topics(Scan(hand, stored.place, Head(None, None), Verdict.CHANGED, stored.tally))
        except FINAL:
            raise
        except PlatformError as problem:
            log.info("topics.untitled", channel=stored.place.channel, problem=str(problem))


@dataclass(slots=True)
class Stored:
    """What came of a channel's news. There *is_gap* when something before it is missing."""

    place: Place
    cycle: int
    is_gap: bool = False
    tally: Tally = field(default_factory=Tally)


async def take_news(
    lane: Lane, database: Database, channel: ChannelId, told: Sequence[News], habits: CycleHabits
) -> Stored | None:
    """Store news of a channel in one transaction; None when this account does not mirror it."""
    async with database.transaction() as connection:
        claim = lane.claim()
        await accounts.fence(connection, claim)
        if (key := await channels.read_by(connection, claim.account, channel)) is None:
            return None
        await messages.hold(connection, key)  # a scan that is just storing its page is waited for
        memory = await places.load(connection, claim.account, habits.retries, only=[channel])
        heard = _Heard.of(memory.places, told)
        stored = Stored(heard.channel, memory.cycle)
        news = await with_vanished(connection, key, heard.news, heard.covered)
        await take_in(connection, heard.channel, news, claim.account, stored.tally)
        moved = await _move_on(connection, heard, found=bool(stored.tally.files))
        is_known = heard.channel.memory.last_scanned_at is not None  # else its first scan is still to come anyway
        stored.is_gap = is_known and (bool(heard.followed.apart) or not moved)
        if heard.touches_archives:
            now = await connection.fetchval("SELECT clock_now()")
            await archives.settle(connection, [heard.channel.key], now, habits.sets)
        if stored.tally.messages:
            counts = {"messages": stored.tally.messages, "archives": stored.tally.archives}
            said = {"channel": channel, "topic": None, **counts, "live": True}
            await feed.record(connection, "channel.read", heard.channel.title, said)
    return stored


@dataclass(frozen=True, slots=True)
class _Heard:
    """News of a channel beside what is remembered of it: *news* is to be stored, *linked* of it also proves something.

    *topics* are those that are followed on their own; where there are such, nothing else of the forum is.
    """

    channel: Place
    topics: Mapping[int, Place]
    followed: Followed
    news: News
    linked: News

    @classmethod
    def of(cls, remembered: Sequence[Place], told: Sequence[News]) -> _Heard:
        channel = next(place for place in remembered if place.is_whole)
        topics = {place.topic: place for place in remembered if not place.is_whole}
        followed = follow(channel.memory.changes, [Step(one.upto, one.steps) for one in told])
        only = topics if channel.by_topic else None
        news = _joined([told[one] for one in (*followed.linked, *followed.apart)], only)
        return cls(channel, topics, followed, news, _joined([told[one] for one in followed.linked], only))

    @property
    def touches_archives(self) -> bool:
        return bool(
            self.news.edited
            or self.news.patched
            or self.news.deleted
            or any(message.files for message in self.news.posted)
        )

    @property
    def speaks_for_all(self) -> bool:
        """Whether everything below was read before: a place that was never scanned has nothing to follow on."""
        places_ = (self.channel, *self.topics.values())
        return all(place.memory.last_scanned_at is not None for place in places_)

    @property
    def covered(self) -> Span | None:
        """The stretch of all messages that is complete with it; none where topics are followed on their own."""
        if self.channel.by_topic or not self.speaks_for_all:
            return None
        return unbroken(self.channel.memory.newest_seen, self.newest_in(self.channel))

    def newest_in(self, place: Place) -> int:
        """The newest message that news without a gap brought to a place."""
        numbers = [one.id for one in self.linked.posted if place.is_whole or one.topic == place.topic]
        return max(numbers, default=MessageId(0))


async def _move_on(connection: Connection, heard: _Heard, *, found: bool) -> bool:
    """Move counter, newest message, watermark and coverage on as far as the sequence is unbroken.

    False when that cannot be, because something was never read, or a scan has moved the counter meanwhile. The forum
    whose topics are followed on their own keeps its newest message: it would speak for topics that nobody reads.
    """
    channel, followed = heard.channel, heard.followed
    if not followed.linked:
        return True
    if not heard.speaks_for_all or channel.memory.changes is None or followed.known is None:
        return False
    counter = Counted(channel.memory.changes, followed.known)
    newest = 0 if channel.by_topic else heard.newest_in(channel)
    if not await live.move(connection, channel.key, counter, newest, found=found):
        return False
    for place in heard.topics.values() if channel.by_topic else [channel]:
        highest = heard.newest_in(place)
        span = unbroken(place.memory.newest_seen, highest)
        kinds = tuple(Content) if place.is_whole else (Content.DOCUMENTS,)
        await coverage.add(connection, place.key, dict.fromkeys(kinds, span), place.topic)
        if not place.is_whole:
            await live.move_topic(connection, place.key, place.topic, highest)
    return True


def _joined(pieces: Sequence[News], topics: Mapping[int, Place] | None) -> News:
    """Several pieces of news as one, in their order; with *topics*, only what is in those."""

    def followed(messages: Iterable[Message]) -> list[Message]:
        return [message for message in messages if topics is None or message.topic in topics]

    return News(
        None,
        posted=followed(message for one in pieces for message in one.posted),
        edited=followed(message for one in pieces for message in one.edited),
        deleted=[number for one in pieces for number in one.deleted],
        patched=[patch for one in pieces for patch in one.patched],
        reacted=[reaction for one in pieces for reaction in one.reacted],
    )
