"""Backfill: many histories read at once, portion after portion, until each is as deep as wanted (seed 001)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.channels.queries import channels, guilds
from tidegate.core.errors import ENDS_CYCLE, ChannelGone, LongWait, PlatformError
from tidegate.events.kinds.history import BackfillEnded
from tidegate.events.queries import feed
from tidegate.history import backfill_log as lines
from tidegate.history.history_pages import HistoryPolicy, HistoryPortion, load, read_portion
from tidegate.history.history_report import HistoryReport
from tidegate.history.queries import channel_histories
from tidegate.history.queries.channel_histories import ChannelHistory
from tidegate.history.rules.backfill_plan import HistoryDepth, KnownHistory
from tidegate.lanes import parked_reads, parking_long_waits, reading_in_background
from tidegate.lanes.reading_turns import TURN_ENDS_AT, ReadingTurns, TurnEnded
from tidegate.platforms.interface import ChannelDeleted
from tidegate.scans.queries.scan_memory import ScanPlace
from tidegate.scans.scan_context import ScanContext, park

log = structlog.get_logger()


@dataclass(slots=True)
class BackfillResult:
    """What a backfill did for one channel. *calls* are the pages it asked for; *parked* is how long it has to wait."""

    place: ScanPlace
    known: KnownHistory
    fetched: int = 0
    stored: int = 0
    calls: int = 0
    error: str | None = None
    parked: timedelta | None = None
    portion: HistoryPortion = field(default_factory=HistoryPortion, repr=False)

    @property
    def is_asking(self) -> bool:
        """Whether it waits for the platform now, and not for the database."""
        return self.portion.asking > 0

    def end_portion(self) -> None:
        """Add what its portion has read, and begin a new one."""
        self.fetched += self.portion.fetched
        self.stored += self.portion.tally.messages
        self.calls += self.portion.pages
        self.portion = HistoryPortion()

    def event(self) -> BackfillEnded:
        top = self.known.top
        return BackfillEnded(
            channel=self.place.channel,
            title=self.place.title,
            fetched=self.fetched,
            stored=self.stored,
            coverage=[[low, high] for low, high in self.known.coverage.spans],
            gaps=[[low, high] for low, high in self.known.coverage.gaps(head=top)] if top else [],
            reached_start=self.known.coverage.reached_start,
            calls=self.calls,
            error=self.error,
            waits_for=None if self.parked is None else round(self.parked.total_seconds()),
            channel_key=self.place.key,
        )


@dataclass(frozen=True, slots=True)
class Backfill(HistoryReport[BackfillResult]):
    """What a backfill did."""

    @property
    def goes_on_after(self) -> timedelta | None:
        """How long until the first of the parked channels may be read again; None where none is parked."""
        return min((one.parked for one in self.channels if one.parked is not None), default=None)


async def backfill_missing(context: ScanContext, policy: HistoryPolicy) -> Backfill:
    """Read every incomplete history of the account, those with new messages first."""
    async with context.database.connection() as connection:
        found = await channel_histories.unfinished(connection, context.lane.account.id, policy.target)
    return await backfill(context, policy, found)


async def backfill(
    context: ScanContext,
    policy: HistoryPolicy,
    found: Sequence[ChannelHistory],
    *,
    wanted: HistoryDepth | None = None,
    one_portion: bool = False,
) -> Backfill:
    """Read these histories as deep as *wanted*, or as deep as each usually is.

    A channel is read for one portion and then queues again behind the others, unless *one_portion* is all it gets. One
    that has to wait a little gives its turn away and goes on later. As many channels are read at once as limits allow.

    An error ends only its own channel, and the report says which and why. A channel with a long rate limit is parked:
    others do not wait for it, and a later call resumes at the same page.
    """
    done = Backfill([BackfillResult(one.place, one.known) for one in found])
    if found and not one_portion:
        log.info(lines.found(len(found)), account=context.lane.account.name)
        log.info(lines.starting(len(found), policy.concurrency), account=context.lane.account.name)

    async def turn(one: BackfillResult) -> TurnEnded:
        ended = await _read_turn(context, policy, wanted, one)
        if not ended.goes_on:
            await _end(context, policy, wanted, one)
        return ended if ended.after or not one_portion else TurnEnded(goes_on=False)

    with parking_long_waits(longer_than=TURN_ENDS_AT), nullcontext() if one_portion else reading_in_background():
        await ReadingTurns(context.lane, done.channels, ceiling=policy.concurrency).take(turn)
    if found and not one_portion:  # otherwise the rest is read, and summarised, beside the cycles
        _log_summary(context, done)
    return done


async def _read_turn(
    context: ScanContext, policy: HistoryPolicy, wanted: HistoryDepth | None, one: BackfillResult
) -> TurnEnded:
    """One portion of one channel, or its part up to the next wait; whether there is more to read, and when."""
    portion = one.portion
    try:
        await read_portion(context, one.place.key, policy, wanted=wanted, portion=portion)
    except ENDS_CYCLE:
        raise
    except LongWait as wait:
        if wait.pause <= parked_reads.SHORT_WAIT:
            return TurnEnded(goes_on=True, after=wait.pause)
        one.parked = wait.pause
        await park(context, one.place, wait)
    except PlatformError as problem:
        one.error = str(problem)
        log.warning(lines.failed(one.place.title, one.place.channel, problem))
        if isinstance(problem, ChannelGone):
            await lose_channel(context, one.place, problem)
    one.end_portion()
    return TurnEnded(one.error is None and one.parked is None and not portion.finished and portion.pages > 0)


def _usual(history: ChannelHistory | None, policy: HistoryPolicy) -> HistoryDepth:
    return HistoryDepth(policy.target) if history is None else history.wanted(policy.target)


async def _end(context: ScanContext, policy: HistoryPolicy, asked: HistoryDepth | None, one: BackfillResult) -> None:
    """Report how the backfill of a channel ended, in the log and in the feed; one that is parked has not ended."""
    history = await load(context, one.place.key)
    one.known = one.known if history is None else history.known
    if one.parked is not None:
        return
    wanted = asked or _usual(history, policy)
    title, depth = one.place.title, one.known.messages
    if one.error is None and one.calls:
        if one.known.coverage.reached_start:
            log.info(lines.fully_backfilled(title))
        log.info(lines.completed(title, depth, wanted, one.fetched))
    elif one.error is None:
        log.info(lines.deep_enough(title, depth, wanted))
    async with owned_transaction(context.database, context.lane.claim()) as connection:
        await feed.record(connection, title, one.event())


async def lose_channel(context: ScanContext, place: ScanPlace, problem: ChannelGone) -> None:
    """A channel was deleted, or the account can no longer see it: then another account reads it, if one can."""
    async with owned_transaction(context.database, context.lane.claim()) as connection:
        if isinstance(problem, ChannelDeleted):
            await guilds.lose(connection, context.lane.account.platform, place.channel)
            return
        kept = await channels.find(connection, str(place.channel))
        await channels.lose_sight(connection, context.lane.account.id, kept)


def _log_summary(context: ScanContext, done: Backfill) -> None:
    named = {"account": context.lane.account.name}
    log.info(lines.RULE, **named)
    log.info(lines.summary(done.succeeded, len(done.channels)), **named)
    log.info(lines.RULE, **named)
