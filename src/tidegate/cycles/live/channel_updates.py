"""Push updates of channels with a change counter, stored at once and without a call (live-never-closes-a-gap).

An update that directly follows the stored counter advances it, as a difference would. Where updates before it are
missing, it is stored but proves nothing. Its channel is then scanned soon, because only the gate's answer is proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import structlog
from prometheus_client import Counter

from tidegate.accounts.queries import accounts
from tidegate.archives.queries import archive_sets
from tidegate.channels.queries import channels
from tidegate.core.clock import Clock
from tidegate.core.errors import ENDS_CYCLE, Banned, NotOurs, PlatformError, SignedOut
from tidegate.core.ids import ChannelId, CycleNumber, MessageId, Span, TopicId
from tidegate.cycles.channel_scan import PlaceScan, name_topics
from tidegate.cycles.cycle import CyclePolicy
from tidegate.cycles.message_box import store_box_updates
from tidegate.cycles.schedule.cycle_requests import CycleRequests
from tidegate.database.pool import AWAY, Connection, Database, now_of
from tidegate.events.kinds.channels import ChannelRead
from tidegate.events.queries import feed
from tidegate.history.deletion_check import Recalled, lacking, recall
from tidegate.history.ingest import IngestTally, take_in
from tidegate.history.queries import coverage, live_progress, messages
from tidegate.history.queries.live_progress import ChangeCounter
from tidegate.history.rules.coverage import Content
from tidegate.history.rules.live_sequence import FollowedSequence, SequenceStep, follow
from tidegate.history.rules.page_proof import unbroken
from tidegate.lanes import Lane, parking_long_waits
from tidegate.platforms.interface import BoxUpdates, ChannelUpdates, Head, Message
from tidegate.scans.queries import scan_memory
from tidegate.scans.queries.scan_memory import ScanPlace
from tidegate.scans.rules.scan_decision import Verdict
from tidegate.scans.scan_context import ScanContext

log = structlog.get_logger()

AT_ONCE = 1_000
"""Maximum number of updates stored together."""

_LOST = Counter(
    "tidegate_hints_lost_total", "How often updates may have been missed, so that every channel was looked at."
)


class LiveUpdates:
    """Stores one account's push updates, all that have arrived at a time."""

    def __init__(
        self,
        lane: Lane,
        database: Database,
        clock: Clock,
        policy: CyclePolicy,
        requests: CycleRequests,
        *,
        pause: timedelta,
    ) -> None:
        """*pause* is how long to wait while this worker has no heartbeat; the updates stay in the queue."""
        self._lane = lane
        self._database = database
        self._clock = clock
        self._policy = policy
        self._requests = requests
        self._pause = pause
        self.is_up = True

    async def run(self) -> None:
        """Store push updates as they arrive; cancelled with the account's work."""
        while self.is_up:
            try:
                hints = await self._lane.hints(most=AT_ONCE)
            except NotOurs:
                await self._clock.sleep(self._pause)
                continue
            except PlatformError as problem:
                log.debug("hints.ended", account=self._lane.account.name, problem=str(problem))
                self.is_up = False
                continue
            by_channel: dict[ChannelId, list[ChannelUpdates]] = {}
            boxed = [hint.box for hint in hints if hint.box is not None]
            for hint in hints:
                if hint.box is not None:
                    continue
                if hint.channel is not None and hint.updates is not None:
                    by_channel.setdefault(hint.channel, []).append(hint.updates)
                else:
                    _LOST.inc(hint.channel is None)
                    self._requests.hint(hint.channel)
            for channel, updates in by_channel.items():
                await self._store(channel, updates)
            if boxed:
                await self._store_box(boxed)

    async def _store_box(self, updates: Sequence[BoxUpdates]) -> None:
        """Store updates of private chats; where that leaves a gap or is impossible now, have the box asked for."""
        try:
            stored = await store_box_updates(self._lane, self._database, updates)
        except (NotOurs, PlatformError, *AWAY) as problem:
            log.info("box.not_stored", account=self._lane.account.name, problem=str(problem))
            self._requests.hint(None)
            return
        if stored is not None and stored.is_gap:
            log.info("box.gap", account=self._lane.account.name)
            self._requests.hint(stored.chats[0])  # a pass over any of the chats asks for the whole box

    async def _store(self, channel: ChannelId, updates: Sequence[ChannelUpdates]) -> None:
        """Store a channel's updates; request a scan where that leaves a gap or is impossible now."""
        try:
            stored = await store_updates(self._lane, self._database, channel, updates, self._policy)
            if stored is None:
                return
            if stored.is_gap:
                log.info("updates.gap", account=self._lane.account.name, channel=channel, title=stored.place.title)
                self._requests.hint(channel)
            if stored.tally.files:
                self._requests.note_archives()
            if stored.tally.untitled:
                await self._name_topics(stored)
        except (SignedOut, Banned):
            raise
        except (NotOurs, PlatformError, *AWAY) as problem:
            log.info("updates.not_stored", channel=channel, problem=str(problem), next="the channel is looked at")
            self._requests.hint(channel)

    async def _name_topics(self, stored: StoredUpdates) -> None:
        """Request the titles of topics whose first message was missed; otherwise the daily listing brings them."""
        context = ScanContext(self._lane, self._database, stored.cycle, self._policy.limits, self._policy.retries)
        try:
            with parking_long_waits():  # updates that arrive meanwhile have to be stored
                await name_topics(PlaceScan(context, stored.place, Head(None, None), Verdict.CHANGED, stored.tally))
        except ENDS_CYCLE:
            raise
        except PlatformError as problem:
            log.info("topics.untitled", channel=stored.place.channel, problem=str(problem))


@dataclass(slots=True)
class StoredUpdates:
    """The result of storing a channel's updates; *is_gap* when updates before them are missing."""

    place: ScanPlace
    cycle: CycleNumber
    is_gap: bool = False
    tally: IngestTally = field(default_factory=IngestTally)


async def store_updates(
    lane: Lane, database: Database, channel: ChannelId, updates: Sequence[ChannelUpdates], policy: CyclePolicy
) -> StoredUpdates | None:
    """Store updates of a channel in one transaction; None when this account does not mirror it.

    Stored messages that the updates should mention but do not are requested before anything is stored.
    """
    recalled = Recalled()
    while True:
        async with database.transaction() as connection:
            claim = lane.claim()
            await accounts.fence(connection, claim)
            if (key := await channels.read_by(connection, claim.account, channel)) is None:
                return None
            await messages.hold(connection, key)  # wait for a scan that is storing its page
            memory = await scan_memory.load(connection, claim.account, policy.retries, only=[channel])
            pending = _PendingUpdates.of(memory.places, updates)
            new = pending.updates
            missing = await lacking(connection, key, pending.covered, new.posted, new.deleted) - recalled.asked
            if not missing:
                edited, deleted = [*new.edited, *recalled.found], [*new.deleted, *sorted(recalled.gone)]
                stored = StoredUpdates(pending.channel, memory.cycle)
                complete = replace(new, edited=edited, deleted=deleted)
                await take_in(connection, pending.channel, complete, claim.account, stored.tally)
                moved = await _move_on(connection, pending, found=bool(stored.tally.files))
                is_known = pending.channel.memory.last_scanned_at is not None  # otherwise its first scan is to come
                stored.is_gap = is_known and (bool(pending.followed.apart) or not moved)
                if pending.touches_archives:
                    await archive_sets.judge(connection, [key], await now_of(connection), policy.sets)
                if (tally := stored.tally).messages:
                    read = ChannelRead(
                        channel=channel,
                        topic=None,
                        messages=tally.messages,
                        archives=tally.archives,
                        live=True,
                        channel_key=key,
                    )
                    await feed.record(connection, pending.channel.title, read)
                return stored
        with parking_long_waits():  # updates that arrive meanwhile have to be stored
            recalled |= await recall(lane, channel, missing, cycle=None)


@dataclass(frozen=True, slots=True)
class _PendingUpdates:
    """Updates of a channel and its scan memory. *updates* is to be stored; the part *linked* also proves coverage.

    *topics* are those followed on their own. If there are any, nothing else of the forum is followed.
    """

    channel: ScanPlace
    topics: Mapping[TopicId, ScanPlace]
    followed: FollowedSequence
    updates: ChannelUpdates
    linked: ChannelUpdates

    @classmethod
    def of(cls, remembered: Sequence[ScanPlace], updates: Sequence[ChannelUpdates]) -> _PendingUpdates:
        channel = next(place for place in remembered if place.is_channel)
        topics = {place.topic: place for place in remembered if not place.is_channel}
        uncounted = [one for one in updates if one.upto is None]  # numbers alone, which move no counter
        counted = [one for one in updates if one.upto is not None]
        followed = follow(channel.memory.changes, [SequenceStep(one.upto, one.steps) for one in counted])
        only = topics if channel.by_topic else None
        stored = _joined([*(counted[one] for one in (*followed.linked, *followed.apart)), *uncounted], only)
        return cls(channel, topics, followed, stored, _joined([counted[one] for one in followed.linked], only))

    @property
    def touches_archives(self) -> bool:
        return bool(
            self.updates.edited
            or self.updates.patched
            or self.updates.deleted
            or any(message.files for message in self.updates.posted)
        )

    @property
    def speaks_for_all(self) -> bool:
        """Whether everything below was read before; a place that was never scanned has nothing to continue from."""
        places_ = (self.channel, *self.topics.values())
        return all(place.memory.last_scanned_at is not None for place in places_)

    @property
    def covered(self) -> Span | None:
        """The range of messages that is complete with these updates; none where topics are followed on their own."""
        if self.channel.by_topic or not self.speaks_for_all:
            return None
        return unbroken(self.channel.memory.newest_seen, self.newest_in(self.channel))

    def newest_in(self, place: ScanPlace) -> int:
        """The newest message that updates without a gap brought to a place."""
        numbers = [one.id for one in self.linked.posted if place.is_channel or one.topic == place.topic]
        return max(numbers, default=MessageId(0))


async def _move_on(connection: Connection, pending: _PendingUpdates, *, found: bool) -> bool:
    """Advance counter, newest message, watermark and coverage as far as the sequence is unbroken.

    False when that is impossible: part was never read, or a scan advanced the counter meanwhile. A forum whose topics
    are followed on their own keeps its newest message, because that would include topics that are not read.
    """
    channel, followed = pending.channel, pending.followed
    if not followed.linked:
        return True
    if not pending.speaks_for_all or channel.memory.changes is None or followed.known is None:
        return False
    counter = ChangeCounter(channel.memory.changes, followed.known)
    newest = 0 if channel.by_topic else pending.newest_in(channel)
    if not await live_progress.move(connection, channel.key, counter, newest, found=found):
        return False
    for place in pending.topics.values() if channel.by_topic else [channel]:
        highest = pending.newest_in(place)
        span = unbroken(place.memory.newest_seen, highest)
        kinds = tuple(Content) if place.is_channel else (Content.DOCUMENTS,)
        await coverage.add(connection, place.key, dict.fromkeys(kinds, span), place.topic)
        if not place.is_channel:
            await live_progress.move_topic(connection, place.key, place.topic, highest)
    return True


def _joined(pieces: Sequence[ChannelUpdates], topics: Mapping[TopicId, ScanPlace] | None) -> ChannelUpdates:
    """Several updates merged into one, in order; with *topics*, only what belongs to those."""

    def followed(messages: Iterable[Message]) -> list[Message]:
        return [message for message in messages if topics is None or message.topic in topics]

    return ChannelUpdates(
        None,
        posted=followed(message for one in pieces for message in one.posted),
        edited=followed(message for one in pieces for message in one.edited),
        deleted=[number for one in pieces for number in one.deleted],
        patched=[patch for one in pieces for patch in one.patched],
        previewed=[preview for one in pieces for preview in one.previewed],
        reacted=[reaction for one in pieces for reaction in one.reacted],
        voted=[vote for one in pieces for vote in one.voted],
        recounted=[recount for one in pieces for recount in one.recounted],
    )
