"""One pass over an account's channels: verdicts, the gate, then only what changed (seed 000)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import structlog

from tidegate.clock import Clock
from tidegate.errors import ChannelGone, PlatformError
from tidegate.lanes import Lane
from tidegate.mirror.asleep import LINES, rest_asleep, wake_all, wake_wanted
from tidegate.mirror.history import HistoryHabits, take_turn
from tidegate.mirror.intake import Tally
from tidegate.mirror.listing import sync_topics
from tidegate.mirror.report import Report, keep_report
from tidegate.mirror.retries import retry_failures
from tidegate.mirror.scan import FINAL, Hand, Scan, read_channel
from tidegate.mirror.topics import read_topics
from tidegate.port import ChannelId, Head
from tidegate.rules.archives import SetHabits
from tidegate.rules.planning import CallLimits, Reading, plan_reading
from tidegate.rules.retrying import RetryHabits
from tidegate.rules.scanning import (
    SKIPS,
    Change,
    ScanHabits,
    ScanOutcome,
    Verdict,
    after_scan,
    decide_scan,
    judge_change,
    settle,
    takes_turn,
)
from tidegate.store import accounts, archives, channels, cycles, due, places
from tidegate.store.database import Database
from tidegate.store.due import Moment
from tidegate.store.places import Memory, Place

log = structlog.get_logger()

PREVIEW_CALLS_AFTER_A_HINT = 5
NOTHING_KNOWN = Head(newest=None, changes=None)


@dataclass(frozen=True, slots=True)
class CycleHabits:
    """The operator's knobs, and what one call carries."""

    scans: ScanHabits = field(default_factory=ScanHabits)
    retries: RetryHabits = field(default_factory=RetryHabits)
    limits: CallLimits = field(default_factory=CallLimits)
    preview_calls: int = 50
    history: HistoryHabits = field(default_factory=HistoryHabits)
    sets: SetHabits = field(default_factory=SetHabits)

    def preview_calls_after(self, *, whole: bool) -> int:
        """The calls for preview pictures after a cycle; a look at some channels, which a hint may ask for at any time,
        has a few for what was just posted there.
        """
        return self.preview_calls if whole else min(self.preview_calls, PREVIEW_CALLS_AFTER_A_HINT)


async def run_cycle(
    lane: Lane,
    database: Database,
    clock: Clock,
    habits: CycleHabits,
    *,
    only: Collection[ChannelId] | None = None,
    since: int | None = None,
) -> Report:
    """Make one pass over all channels the account reads, or over *only* some, which does not count as a cycle.

    *since* is the place in the ledger from which the report counts connecting; by default that is now.
    """
    began = clock.ticks()
    async with database.transaction() as connection:
        await accounts.fence(connection, lane.claim())
        await channels.claim_readers(connection, lane.account.id)
        memory = await due.load_awake(connection, lane.account.id, habits.scans, habits.retries, only=only)
        marked = await cycles.mark(connection) if since is None else since
    whole = only is None
    report = Report(lane.account.name, memory.cycle + 1 if whole else memory.cycle, whole)
    hand = Hand(lane, database, report.cycle, habits.limits, habits.retries)
    report.failures_retried = await retry_failures(hand, memory)
    await _Pass(hand, habits, memory, report).run()
    report.seconds = clock.ticks() - began
    await _end(hand, habits.sets, memory, report, marked)
    return report


async def _end(hand: Hand, sets: SetHabits, memory: Memory, report: Report, marked: int) -> None:
    """Judge the open sets, count what was spent, and close the cycle with its event."""
    lane = hand.lane
    await lane.write_ledger()
    async with hand.database.transaction() as connection:
        await accounts.fence(connection, lane.claim(), to_change=report.whole)
        now = await connection.fetchval("SELECT clock_now()")
        await archives.settle(connection, {place.key for place in memory.places}, now, sets)
        if report.whole or memory.places:  # else a hint of a channel that is not mirrored here
            await keep_report(connection, lane, report, memory.now, since=marked)


class _Pass:
    """The part of a cycle that goes through the places.

    Topics that are followed on their own become objects when their forum is read; before, only those with a failure.
    """

    def __init__(self, hand: Hand, habits: CycleHabits, memory: Memory, report: Report) -> None:
        self._hand = hand
        self._habits = habits
        self._memory = memory
        self._report = report
        self._topics: dict[int, list[Place]] = {}
        for place in memory.places:
            if not place.is_whole:
                self._topics.setdefault(place.key, []).append(place)

    async def run(self) -> None:
        """Gate every readable channel, store what needs no further call in one go, and read the rest."""
        whole = [place for place in self._memory.places if place.is_whole]
        heads = await self._gate([place for place in whole if place.memory.readable])
        to_read: list[tuple[Place, Head, Change]] = []
        resting: dict[tuple[int, int], tuple[Place, Head, Verdict]] = {}
        for place in whole:
            head = heads.get(place.channel, NOTHING_KNOWN)
            change = self._change(place, head)
            if self._reading(place, head, change) is Reading.NOTHING and not self._topic_wants_calls(place):
                for at in (place, *self._topics.get(place.key, ())):
                    resting[at.key, at.topic] = (at, head, self._settled(at, change))
            else:
                to_read.append((place, head, change))
        await self._rest(list(resting.values()))
        await self._rest_asleep([place for place, _, _ in resting.values() if place.is_whole])
        for place, head, change in to_read:
            await self._read(place, head, change)
        for place in whole:
            if place.lacks_history and place.memory.readable:
                await self._deepen(place)

    async def _gate(self, places_: list[Place]) -> dict[ChannelId, Head]:
        numbers = [place.channel for place in places_]
        heads: dict[ChannelId, Head] = {}
        for start in range(0, len(numbers), self._hand.limits.gate_batch):
            batch = numbers[start : start + self._hand.limits.gate_batch]
            heads.update(await self._hand.lane.heads(batch, cycle=self._hand.cycle))
        self._report.gated = len(numbers)
        return heads

    # What is decided

    def _change(self, place: Place, head: Head) -> Change:
        return judge_change(place.memory, changes=head.changes, newest=head.newest)

    def _reading(self, place: Place, head: Head, change: Change) -> Reading:
        turn = self._takes_turn(place) and not place.by_topic
        return plan_reading(place.memory, change, changes=head.changes, limits=self._hand.limits, its_turn=turn)

    def _topic_wants_calls(self, place: Place) -> bool:
        return bool(self._memory.wanted.get(place.key)) or any(
            topic.memory.last_scanned_at is None or topic.memory.asked or self._takes_turn(topic)
            for topic in self._topics.get(place.key, ())
            if topic.memory.readable
        )

    def _takes_turn(self, place: Place) -> bool:
        turn = self._report.cycle + place.turn_offset
        return self._report.whole and takes_turn(place.memory, self._habits.scans, now=self._memory.now, turn=turn)

    def _settled(self, place: Place, change: Change) -> Verdict:
        turn = self._report.cycle + place.turn_offset
        verdict = decide_scan(place.memory, self._habits.scans, now=self._memory.now, turn=turn)
        return settle(verdict, change)

    # What needs no further call

    async def _rest(self, resting: list[tuple[Place, Head, Verdict]]) -> None:
        """Store, in one transaction, that these places have nothing to read: looked at by the gate, or skipped."""
        looked = [(place, head, verdict) for place, head, verdict in resting if verdict not in _NOT_LOOKED_AT]
        async with self._hand.database.transaction() as connection:
            await accounts.fence(connection, self._hand.lane.claim())
            now = await connection.fetchval("SELECT clock_now()")
            pending = await places.pending(connection, self._hand.lane.account.id, self._habits.retries, now)
            told = {}
            for place, head, verdict in looked:
                outcome = ScanOutcome(
                    complete=True,
                    newest=head.newest if place.is_whole and not place.by_topic else None,
                    changes=head.changes if place.is_whole else None,
                    failures_pending=pending[place.key, place.topic],
                )
                told[place.key, place.topic] = (after_scan(place.memory, outcome, now=now), verdict)
                if place.is_whole and place.told_otherwise(head.channel):
                    await channels.describe(connection, place.key, head.channel)
            await places.remember(connection, told)
            skipped = {(p.key, p.topic): verdict for p, _, verdict in resting if verdict in _NOT_LOOKED_AT}
            await places.note_verdicts(connection, skipped)
        for place, _, verdict in resting:
            self._count(place, verdict)

    async def _rest_asleep(self, forums: list[Place]) -> None:
        moment = Moment(self._memory.now, self._report.cycle, self._report.whole)
        self._report.verdicts += await rest_asleep(self._hand, self._memory, self._habits.scans, moment, forums)

    def _count(self, place: Place, verdict: Verdict) -> None:
        self._report.verdicts[verdict] += 1
        words = LINES.get(verdict)
        if words is not None:
            log.info(words, **self._named(place), verdict=verdict.value)

    def _named(self, place: Place) -> dict[str, Any]:
        named = {"account": self._report.account, "channel": place.channel, "title": place.title}
        return named if place.is_whole else {**named, "topic": place.topic}

    # What is read

    async def _read(self, place: Place, head: Head, change: Change) -> None:
        """Read one channel; its trouble is told and remembered, and stops no other."""
        verdict = self._settled(place, change)
        scan = Scan(self._hand, place, head, verdict, Tally())
        self._report.changed += change is not Change.UNCHANGED
        log.info("Scanning channel", **self._named(place), verdict=verdict.value)
        try:
            if verdict is Verdict.FIRST and (place.forum or (head.channel is not None and head.channel.forum)):
                most = self._hand.limits.pages_a_turn
                await sync_topics(self._hand.lane, self._hand.database, place, cycle=self._hand.cycle, most=most)
            if place.by_topic:
                topics = await self._topics_to_read(place, change)
                self._report.verdicts += await read_topics(scan, topics, change, self._takes_turn, self._settled)
            else:
                await read_channel(scan, self._reading(place, head, change))
        except FINAL:
            raise
        except ChannelGone as problem:
            verdict = Verdict.UNREADABLE
            await self._lose(place, problem)
        except PlatformError as problem:
            self._report.troubles.append(f"{place.title}: {problem}")
            log.warning("scan.unfinished", **self._named(place), problem=str(problem))
            await scan.give_up()
        self._report.verdicts[verdict] += 1
        self._report.tally.add(scan.tally)

    async def _topics_to_read(self, place: Place, change: Change) -> list[Place]:
        """In an unchanged forum the topics that want something; in any other all of them may have moved."""
        if change is not Change.UNCHANGED:
            return await wake_all(self._hand, place)
        await self._rest_asleep([place])
        return [*self._topics.get(place.key, ()), *await wake_wanted(self._hand, self._memory, place)]

    async def _deepen(self, place: Place) -> None:
        """Have a turn in the history of a channel that is mirrored in full; what is left queues again elsewhere."""
        try:
            turn = await take_turn(self._hand, place.key, self._habits.history)
        except FINAL:
            raise
        except PlatformError as problem:
            self._report.troubles.append(f"{place.title}: {problem}")
            log.warning("history.unfinished", **self._named(place), problem=str(problem))
        else:
            self._report.tally.add(turn.tally)

    async def _lose(self, place: Place, problem: ChannelGone) -> None:
        log.warning("channel.lost", **self._named(place), problem=str(problem))
        async with self._hand.database.transaction() as connection:
            await accounts.fence(connection, self._hand.lane.claim())
            kept = await channels.find(connection, str(place.channel))
            await channels.lose_sight(connection, self._hand.lane.account.id, kept)
            await places.note_verdicts(connection, {(place.key, place.topic): Verdict.UNREADABLE})


_NOT_LOOKED_AT = SKIPS | {Verdict.UNREADABLE}
