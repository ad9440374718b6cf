"""One pass over an account's channels: decide by memory, ask the gate, then read only what changed (seed 000)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from tidegate.accounts.queries import accounts
from tidegate.archives.queries import archive_sets
from tidegate.archives.rules.retry import RetryPolicy
from tidegate.archives.rules.set_assembly import SetPolicy
from tidegate.channels.queries import channels
from tidegate.core.clock import Clock
from tidegate.core.errors import ENDS_CYCLE, ChannelGone, LongWait, PlatformError
from tidegate.core.ids import CallId, ChannelId, ChannelKey, CycleNumber, TopicId
from tidegate.cycles.archive_retries import retry_failures
from tidegate.cycles.channel_scan import PlaceScan, read_channel
from tidegate.cycles.cycle_report import CycleReport, keep_report
from tidegate.cycles.idle_topics import LINES, rest_asleep, wake_all, wake_wanted
from tidegate.cycles.message_box import FollowedBox, follow_box
from tidegate.cycles.message_count_check import recount
from tidegate.cycles.queries import cycles
from tidegate.cycles.topic_scan import read_topics
from tidegate.cycles.unread_changes import compare_unread
from tidegate.database.pool import Database, now_of
from tidegate.history.background.verification import verify_by_counters
from tidegate.history.history_pages import HistoryPolicy, read_portion
from tidegate.history.ingest import IngestTally
from tidegate.lanes import Lane, parking_long_waits
from tidegate.media import avatars
from tidegate.platforms.interface import Head
from tidegate.scans.channel_catalogue import sync_topics
from tidegate.scans.queries import due_topics, scan_memory
from tidegate.scans.queries.due_topics import CycleMoment
from tidegate.scans.queries.scan_memory import AccountMemory, ScanPlace
from tidegate.scans.rules.call_bounds import CallLimits, ReadPlan, plan_reading
from tidegate.scans.rules.scan_decision import (
    SKIPS,
    GateChange,
    ScanOutcome,
    ScanPolicy,
    Verdict,
    after_scan,
    decide_scan,
    judge_change,
    takes_turn,
    verdict_after_gate,
)
from tidegate.scans.scan_context import ScanContext, park

log = structlog.get_logger()

PREVIEW_CALLS_AFTER_A_HINT = 5
NOTHING_KNOWN = Head(newest=None, changes=None)


@dataclass(frozen=True, slots=True)
class CyclePolicy:
    """The operator's settings for a cycle, and the size of one call."""

    scans: ScanPolicy = field(default_factory=ScanPolicy)
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    limits: CallLimits = field(default_factory=CallLimits)
    preview_calls: int = 50
    history: HistoryPolicy = field(default_factory=HistoryPolicy)
    sets: SetPolicy = field(default_factory=SetPolicy)
    refill_calls_per_hour: int = 300

    def preview_calls_after(self, *, whole: bool) -> int:
        """The number of calls for preview pictures after a cycle.

        A pass over some channels after a push update gets a few calls, for messages that were just posted there.
        """
        return self.preview_calls if whole else min(self.preview_calls, PREVIEW_CALLS_AFTER_A_HINT)


async def run_cycle(
    lane: Lane,
    database: Database,
    clock: Clock,
    policy: CyclePolicy,
    *,
    only: Collection[ChannelId] | None = None,
    since: CallId | None = None,
) -> CycleReport:
    """Make one pass over all channels the account reads, or over *only* some, which does not count as a cycle.

    *since* is the entry of the call log from which the report counts the calls to connect; by default that is now. A
    channel that is rate limited for long is parked, and the report says for how long.
    """
    with parking_long_waits():
        began = clock.ticks()
        async with database.transaction() as connection:
            await accounts.fence(connection, lane.claim())
            await channels.claim_readers(connection, lane.account.id)
            memory = await due_topics.load_awake(connection, lane.account.id, policy.scans, policy.retries, only=only)
            marked = await cycles.mark(connection) if since is None else since
        whole = only is None
        report = CycleReport(lane.account.name, CycleNumber(memory.cycle + 1) if whole else memory.cycle, whole)
        context = ScanContext(lane, database, report.cycle, policy.limits, policy.retries)
        report.failures_retried = await retry_failures(context, memory)
        await _Pass(context, policy, memory, report).run()
        report.seconds = clock.ticks() - began
        await _end(context, policy.sets, memory, report, marked)
        return report


async def _end(
    context: ScanContext, sets: SetPolicy, memory: AccountMemory, report: CycleReport, marked: CallId
) -> None:
    """Judge the open sets, count the calls, and close the cycle with its event."""
    lane = context.lane
    await lane.write_ledger()
    async with context.database.transaction() as connection:
        await accounts.fence(connection, lane.claim(), to_change=report.whole)
        now = await now_of(connection)
        await archive_sets.judge(connection, {place.key for place in memory.places}, now, sets)
        if report.whole or memory.places:  # otherwise a hint about a channel that is not mirrored here
            await keep_report(connection, lane, report, memory.now, since=marked)


def _is_in_step(chat: ScanPlace) -> bool:
    """Whether a private chat was read, so that changes of the box bring it up to date."""
    return chat.memory.last_scanned_at is not None and chat.memory.changes is not None


class _Pass:
    """The part of a cycle that visits the channels and topics.

    Topics that are followed on their own are loaded when their forum is read. Before that, only those with a failure
    are.
    """

    def __init__(self, context: ScanContext, policy: CyclePolicy, memory: AccountMemory, report: CycleReport) -> None:
        self._context = context
        self._policy = policy
        self._memory = memory
        self._report = report
        self._box: FollowedBox | None = None
        self._in_step: set[ChannelKey] = set()  # read up to the counter that the gate named
        self._topics: dict[ChannelKey, list[ScanPlace]] = {}
        for place in memory.places:
            if not place.is_channel:
                self._topics.setdefault(place.key, []).append(place)

    async def run(self) -> None:
        """Gate every readable channel, store those that need no further call in one transaction, and read the rest."""
        whole = [place for place in self._memory.places if place.is_channel]
        try:
            heads = await self._heads([place for place in whole if place.memory.readable])
        except LongWait as wait:  # nothing is known about any channel, so nothing is decided about any
            self._report.parked[None] = wait.pause
            await self._deepen_all(whole)
            return
        to_read: list[tuple[ScanPlace, Head, GateChange]] = []
        resting: dict[tuple[ChannelKey, TopicId], tuple[ScanPlace, Head, Verdict]] = {}
        for place in whole:
            head = heads.get(place.channel, NOTHING_KNOWN)
            change = self._change(place, head)
            if change is GateChange.UNCHANGED:
                self._in_step.add(place.key)
            if self._reading(place, head, change) is ReadPlan.NOTHING and not self._topic_wants_calls(place):
                for at in (place, *self._topics.get(place.key, ())):
                    resting[at.key, at.topic] = (at, head, self._verdict(at, change))
            else:
                to_read.append((place, head, change))
        await self._rest(list(resting.values()))
        await self._rest_asleep([place for place, _, _ in resting.values() if place.is_channel])
        for place, head, change in to_read:
            await self._read(place, head, change)
        await self._deepen_all(whole)
        apart, calls = replace(self._context, cycle=None), self._policy.history.reconcile_calls
        if self._report.whole:
            self._report.reconcile_calls += await compare_unread(apart, whole, self._report.tally, calls=calls)
            await verify_by_counters(apart, self._in_step, at=self._memory.now)
        only = None if self._report.whole else {place.channel for place in whole}
        self._report.reconcile_calls += await recount(apart, self._report.tally, only=only)

    async def _heads(self, readable: list[ScanPlace]) -> dict[ChannelId, Head]:
        """The head of every channel. Private chats share the counter of their account's box.

        The box is asked first: what is posted meanwhile then comes after its counter, and is not missed. The gate's
        answer also says how far the box is, so a lost push update is noticed. Without a gate the box is asked for that.
        """
        if any(place.private_chat for place in readable):
            without_gate = all(place.private_chat and _is_in_step(place) for place in readable)
            ask = self._report.whole and without_gate
            self._box = await follow_box(self._context, self._report.tally, ask=ask)
        asked = [place for place in readable if not self._follows_box(place)]
        heads = await self._gate(asked)
        if self._box is not None and self._box.as_pushed and self._context.lane.known_box() is None:
            again = await follow_box(self._context, self._report.tally)
            if again is not None and again.lost_track:
                self._box = again
                heads |= await self._gate([place for place in readable if place.private_chat])
        if self._box is None:
            return heads
        counter = self._box.state.changes
        chats = {place.channel: heads.get(place.channel, NOTHING_KNOWN) for place in readable if place.private_chat}
        return heads | {chat: replace(head, changes=counter) for chat, head in chats.items()}

    def _follows_box(self, place: ScanPlace) -> bool:
        """Whether a private chat is up to date by its account's box alone."""
        if not place.private_chat or self._box is None or self._box.lost_track:
            return False
        return _is_in_step(place)

    async def _gate(self, places_: list[ScanPlace]) -> dict[ChannelId, Head]:
        numbers = [place.channel for place in places_]
        heads: dict[ChannelId, Head] = {}
        for start in range(0, len(numbers), self._context.limits.gate_batch):
            batch = numbers[start : start + self._context.limits.gate_batch]
            heads.update(await self._context.lane.heads(batch, cycle=self._context.cycle))
        self._report.gated += len(numbers)
        return heads

    # Decisions

    def _change(self, place: ScanPlace, head: Head) -> GateChange:
        if self._follows_box(place):
            return GateChange.UNCHANGED
        return judge_change(place.memory, changes=head.changes, newest=head.newest)

    def _reading(self, place: ScanPlace, head: Head, change: GateChange) -> ReadPlan:
        if place.private_chat:
            return ReadPlan.NOTHING if self._follows_box(place) or not place.memory.readable else ReadPlan.SEARCH
        turn = self._takes_turn(place) and not place.by_topic
        return plan_reading(place.memory, change, changes=head.changes, limits=self._context.limits, its_turn=turn)

    def _topic_wants_calls(self, place: ScanPlace) -> bool:
        return bool(self._memory.wanted.get(place.key)) or any(
            topic.memory.last_scanned_at is None or topic.memory.asked or self._takes_turn(topic)
            for topic in self._topics.get(place.key, ())
            if topic.memory.readable
        )

    def _takes_turn(self, place: ScanPlace) -> bool:
        turn = self._report.cycle + place.turn_offset
        return self._report.whole and takes_turn(place.memory, self._policy.scans, now=self._memory.now, turn=turn)

    def _verdict(self, place: ScanPlace, change: GateChange) -> Verdict:
        turn = self._report.cycle + place.turn_offset
        verdict = decide_scan(place.memory, self._policy.scans, now=self._memory.now, turn=turn)
        return verdict_after_gate(verdict, change)

    # Channels that need no further call

    async def _rest(self, resting: list[tuple[ScanPlace, Head, Verdict]]) -> None:
        """Store, in one transaction, that these places have nothing to read: checked by the gate, or skipped."""
        looked = [(place, head, verdict) for place, head, verdict in resting if verdict not in _NOT_LOOKED_AT]
        async with self._context.database.transaction() as connection:
            await accounts.fence(connection, self._context.lane.claim())
            now = await now_of(connection)
            await scan_memory.lock(connection, [(place.key, place.topic) for place, _, _ in looked])
            pending = await scan_memory.pending(connection, self._context.lane.account.id, self._policy.retries, now)
            scanned = {}
            for place, head, verdict in looked:
                outcome = ScanOutcome(
                    complete=True,
                    newest=head.newest if place.is_channel and not place.by_topic else None,
                    changes=head.changes if place.is_channel else None,
                    failures_pending=pending[place.key, place.topic],
                )
                scanned[place.key, place.topic] = (after_scan(place.memory, outcome, now=now), verdict)
                if place.is_channel and place.is_described_differently(head.channel):
                    await channels.describe(connection, place.key, head.channel)
                    await avatars.note_channels(connection, self._context.lane.account.platform, [head.channel])
            await scan_memory.remember(connection, scanned)
            skipped = {(p.key, p.topic): verdict for p, _, verdict in resting if verdict in _NOT_LOOKED_AT}
            await scan_memory.note_verdicts(connection, skipped)
        for place, _, verdict in resting:
            self._count(place, verdict)

    async def _rest_asleep(self, forums: list[ScanPlace]) -> None:
        moment = CycleMoment(self._memory.now, self._report.cycle, self._report.whole)
        self._report.verdicts += await rest_asleep(self._context, self._memory, self._policy.scans, moment, forums)

    def _count(self, place: ScanPlace, verdict: Verdict) -> None:
        self._report.verdicts[verdict] += 1
        words = LINES.get(verdict)
        if words is not None:
            log.info(words, **self._named(place), verdict=verdict.value)

    def _named(self, place: ScanPlace) -> dict[str, Any]:
        named = {"account": self._report.account, "channel": place.channel, "title": place.title}
        return named if place.is_channel else {**named, "topic": place.topic}

    # Channels that are read

    async def _read(self, place: ScanPlace, head: Head, change: GateChange) -> None:
        """Read one channel. Its error is reported and stored, and does not stop the others."""
        verdict = self._verdict(place, change)
        scan = PlaceScan(self._context, place, head, verdict, IngestTally())
        scan.history_brings_all = verdict is Verdict.FIRST and place.lacks_history and not place.by_topic
        self._report.changed += change is not GateChange.UNCHANGED
        log.info("Scanning channel", **self._named(place), verdict=verdict.value)
        try:
            if verdict is Verdict.FIRST and (place.forum or (head.channel is not None and head.channel.forum)):
                most = self._context.limits.pages_a_turn
                await sync_topics(
                    self._context.lane, self._context.database, place, cycle=self._context.cycle, most=most
                )
            if place.by_topic:
                topics = await self._topics_to_read(place, change)
                self._report.verdicts += await read_topics(scan, topics, change, self._takes_turn, self._verdict)
            elif await read_channel(scan, self._reading(place, head, change)):
                self._in_step.add(place.key)
        except ENDS_CYCLE:
            raise
        except ChannelGone as problem:
            verdict = Verdict.UNREADABLE
            await self._lose(place, problem)
        except LongWait as wait:
            await self._park(place, wait)
            await scan.give_up()
        except PlatformError as problem:
            self._report.troubles.append(place.trouble(problem))
            log.warning("scan.unfinished", **self._named(place), problem=str(problem))
            await scan.give_up()
        self._report.verdicts[verdict] += 1
        self._report.tally.add(scan.tally)

    async def _topics_to_read(self, place: ScanPlace, change: GateChange) -> list[ScanPlace]:
        """In an unchanged forum, the topics with work to do; in any other, all topics, since each may have changed."""
        if change is not GateChange.UNCHANGED:
            return await wake_all(self._context, place)
        await self._rest_asleep([place])
        return [*self._topics.get(place.key, ()), *await wake_wanted(self._context, self._memory, place)]

    async def _park(self, place: ScanPlace, wait: LongWait) -> None:
        self._report.parked[place.channel] = wait.pause
        self._report.private |= {place.channel} if place.private_chat else set()
        await park(self._context, place, wait)

    async def _deepen_all(self, whole: list[ScanPlace]) -> None:
        for place in whole:
            if place.lacks_history and place.memory.readable:
                await self._deepen(place)

    async def _deepen(self, place: ScanPlace) -> None:
        """Read part of the history of a channel that is mirrored in full; the remainder is queued elsewhere."""
        try:
            portion = await read_portion(self._context, place.key, self._policy.history)
        except ENDS_CYCLE:
            raise
        except LongWait as wait:
            await self._park(place, wait)
        except PlatformError as problem:
            self._report.troubles.append(place.trouble(problem))
            log.warning("history.unfinished", **self._named(place), problem=str(problem))
        else:
            self._report.tally.add(portion.tally)

    async def _lose(self, place: ScanPlace, problem: ChannelGone) -> None:
        log.warning("channel.lost", **self._named(place), problem=str(problem))
        async with self._context.database.transaction() as connection:
            await accounts.fence(connection, self._context.lane.claim())
            kept = (await channels.of_keys(connection, [place.key]))[place.key]
            await channels.lose_sight(connection, self._context.lane.account.id, kept)
            await scan_memory.note_verdicts(connection, {(place.key, place.topic): Verdict.UNREADABLE})


_NOT_LOOKED_AT = SKIPS | {Verdict.UNREADABLE}
