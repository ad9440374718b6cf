"""Pages of a history that is mirrored in full: read in portions, each page stored in its own transaction."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import timedelta
from weakref import WeakKeyDictionary

import structlog

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.channels.queries import guilds, message_counts
from tidegate.channels.queries.message_counts import PlatformCount
from tidegate.channels.rules.message_counts import MessageCounter, is_cut_short
from tidegate.core.errors import ENDS_CYCLE, LongWait, Refused
from tidegate.core.ids import ChannelKey, MessageId, Span
from tidegate.database.pool import Connection
from tidegate.events.kinds.history import BackfillProgressed
from tidegate.events.queries import feed
from tidegate.history import backfill_log as lines
from tidegate.history.deletion_check import Recalled, lacking, recall
from tidegate.history.ingest import IngestTally, take_in
from tidegate.history.queries import channel_histories, coverage, messages
from tidegate.history.queries.channel_histories import ChannelHistory
from tidegate.history.rules.backfill_plan import (
    BackfillPhase,
    HistoryDepth,
    PageDirection,
    PageRound,
    PortionBudget,
    next_round,
    reconciled_newest,
)
from tidegate.history.rules.coverage import Content, Coverage
from tidegate.history.rules.page_proof import common, proven
from tidegate.history.rules.page_request import PageAsked, Walk
from tidegate.lanes import Lane
from tidegate.platforms.interface import ChannelUpdates, HistoryPage
from tidegate.scans.scan_context import ScanContext

log = structlog.get_logger()

_locks: WeakKeyDictionary[Lane, defaultdict[ChannelKey, asyncio.Lock]] = WeakKeyDictionary()
"""Locks of the histories being read, by lane and channel. A channel has one account that reads it."""


@dataclass(frozen=True, slots=True)
class HistoryPolicy:
    """The operator's settings for histories."""

    budget: PortionBudget = field(default_factory=PortionBudget)
    concurrency: int | None = None  # the most histories read at once; None for as many as limits allow
    target: int = 50_000  # how many messages of each
    reconcile_limit: int = 200  # how many of the newest are compared
    reconcile_calls: int = 50  # how many calls a cycle may spend on that
    verify_within: timedelta = timedelta(days=30)  # how soon all of a history is compared again
    verify_calls: int = 500  # how many calls a day an account may spend on that


@dataclass(frozen=True, slots=True)
class Answer:
    """A page, what it was asked for, and the stretch it proves."""

    asked: PageAsked
    page: HistoryPage
    span: Span | None

    def together_with(self, second: Answer) -> Answer:
        """Two answers to the same request: all messages of either, in the later version, and what both prove."""
        shown = {message.id: message for page in (self.page, second.page) for message in page.messages}
        rows = [shown[number] for number in sorted(shown, reverse=True)]
        reached_start = self.page.reached_start and second.page.reached_start
        page = replace(second.page, messages=rows, reached_start=reached_start)
        return Answer(self.asked, page, common(self.span, second.span))


Progress = Callable[[Connection, Answer], Awaitable[None]]


@dataclass(slots=True)
class HistoryPortion:
    """What one portion has read, of *target* messages. *finished* says that all that is wanted of the history is there.

    *pages* are the calls it took, and *asking* those that are not answered yet. *depth* is how many messages pages of
    the history brought so far, in this portion and before. *shown* are the numbers of all messages that its pages had,
    and *proven* the stretches they prove; *newest_read* says that the newest page is among them.
    """

    target: int | None = None

    fetched: int = 0
    pages: int = 0
    rounds: int = 0
    asking: int = 0
    depth: int = 0
    finished: bool = False
    tally: IngestTally = field(default_factory=IngestTally)
    shown: set[MessageId] = field(default_factory=set)
    proven: Coverage = field(default_factory=Coverage)
    newest_read: bool = False
    progress: Progress | None = None  # stores what the reader learns from a page, in the page's own transaction

    def note_shown(self, answer: Answer) -> None:
        """Count a page towards what the portion has reconciled."""
        self.shown.update(message.id for message in answer.page.messages)
        self.proven = self.proven.with_span(answer.span)
        self.newest_read |= answer.asked.walk is Walk.NEWEST and answer.span is not None

    @property
    def reconciled(self) -> int:
        """How many of the newest messages it has seen without a gap, and so reconciled with what is stored."""
        return reconciled_newest(self.proven, self.shown) if self.newest_read else 0


def history_lock(lane: Lane, key: ChannelKey) -> asyncio.Lock:
    """Held while a channel's history is read: a cycle and a command never fetch the same page."""
    return _locks.setdefault(lane, defaultdict(asyncio.Lock))[key]


async def read_portion(
    context: ScanContext,
    key: ChannelKey,
    policy: HistoryPolicy,
    *,
    wanted: HistoryDepth | None = None,
    portion: HistoryPortion | None = None,
) -> HistoryPortion:
    """Continue a history for one portion: what is new, then gaps, then deeper, until it is as deep as *wanted*.

    Each page is stored before the next round, which starts from what is stored. So a portion can end anywhere, by its
    budget or by a crash, and the next one resumes there. It counts in *portion* where that is given, so that what was
    read before a failure is reported.
    """
    portion = HistoryPortion() if portion is None else portion
    async with history_lock(context.lane, key):
        while history := await load(context, key):
            depth = wanted or history.wanted(policy.target)
            portion.target = depth.messages
            at_once = policy.budget.pages(rounds=portion.rounds, fetched=portion.fetched)
            asked = next_round(history.known, depth, manner=_manner(context, policy), at_once=max(at_once, 1))
            portion.finished = asked is None
            if asked is None or not at_once:
                break
            await _read_round(context, history, depth, asked, portion)
        if portion.reconciled >= policy.reconcile_limit:
            await _note_reconciled(context, key)
    return portion


async def _note_reconciled(context: ScanContext, key: ChannelKey) -> None:
    """A portion that read the newest messages anyway has reconciled them too, so that no call is made for it."""
    async with owned_transaction(context.database, context.lane.claim()) as connection:
        await channel_histories.note_reconciled(connection, key)


async def look_at_newest(context: ScanContext, key: ChannelKey) -> HistoryPortion:
    """Read the newest page of a channel, whatever its known head is; what is missing below is a gap like any other."""
    portion = HistoryPortion()
    async with history_lock(context.lane, key):
        history = await load(context, key)
        if history is not None:
            await read_page(context, history, PageAsked(Walk.NEWEST), portion)
    return portion


async def load(context: ScanContext, key: ChannelKey) -> ChannelHistory | None:
    """What is stored of a history now; None when this account does not read it any more."""
    async with context.database.connection() as connection:
        found = await channel_histories.of_reader(connection, context.lane.account.id, only=[key])
    return found[0] if found else None


def _manner(context: ScanContext, policy: HistoryPolicy) -> PageDirection:
    upwards = context.lane.reads_up
    return PageDirection(upwards=upwards, overlap=upwards and policy.reconcile_calls > 0)


async def _read_round(
    context: ScanContext, history: ChannelHistory, wanted: HistoryDepth, asked: PageRound, portion: HistoryPortion
) -> None:
    """Request the pages of a round at once and store each; one that fails does not affect the others."""
    before, portion.rounds = (portion.fetched, portion.tally.messages), portion.rounds + 1
    _log_beginning(history, wanted, asked, portion)
    done = await asyncio.gather(
        *(read_page(context, history, page, portion) for page in asked.pages), return_exceptions=True
    )
    problems = [problem for problem in done if isinstance(problem, BaseException)]
    for problem in problems:
        if isinstance(problem, LongWait):
            continue  # the caller decides whether that is worth a line
        line = lines.failed_catching_up if asked.phase is BackfillPhase.CATCH_UP else lines.failed_batch
        log.warning(line(problem), channel=history.place.channel)
    if problems:
        portion.rounds -= len(problems) == len(asked.pages)  # one that brought nothing uses up no budget
        raise next((problem for problem in problems if isinstance(problem, ENDS_CYCLE)), problems[0])
    _log_end(history, wanted, asked, portion, before)


async def read_page(
    context: ScanContext, history: ChannelHistory, asked: PageAsked, portion: HistoryPortion
) -> HistoryPage:
    """Request one page and store what it shows and proves.

    A stored message that it lacks is requested by its number. If that message exists after all, the page lost a row and
    may have lost others. So the page is requested once more and counts together with the first.
    """
    answer = await _ask(context, history, asked, portion)
    recalled = await _recall(context, history, answer, portion)
    if recalled.found:
        answer = answer.together_with(await _ask(context, history, asked, portion))
    page = answer.page
    portion.fetched += len(page.messages)
    await _keep(context, history, answer, recalled, portion)
    portion.note_shown(answer)
    if not page.may_read:
        raise Refused(
            f'The account may not read the history of "{history.place.title}"; grant it Read Message History.'
        )
    return page


async def _ask(context: ScanContext, history: ChannelHistory, asked: PageAsked, portion: HistoryPortion) -> Answer:
    channel, bound = history.place.channel, None if asked.bound is None else MessageId(asked.bound)
    portion.asking += 1
    try:
        if asked.walk is Walk.AFTER and bound is not None:
            page = await context.lane.page_after(channel, after=bound, cycle=context.cycle)
        else:
            page = await context.lane.page(channel, before=bound, cycle=context.cycle)
    finally:
        portion.asking -= 1
    portion.pages += 1
    numbers: list[MessageId] = [message.id for message in page.messages]
    if page.reached_start and numbers and await _is_cut_short(context, history, numbers):
        page = replace(page, reached_start=False)
    ended = page.reached_head if asked.walk is Walk.AFTER else page.reached_start
    span = proven(asked, numbers, head=history.known.top, ended=ended, may_read=page.may_read)
    return Answer(asked, page, span)


async def _is_cut_short(context: ScanContext, history: ChannelHistory, numbers: Collection[MessageId]) -> bool:
    """Whether a page that seems to be the last has too few messages for the platform's own count.

    Then an empty page below it has to say that this is the end.
    """
    async with context.database.connection() as connection:
        reported = await message_counts.counted_messages(connection, history.place.key)
        if reported is None:
            return False
        stored = await messages.count_with(connection, history.place.key, numbers)
    return is_cut_short(oldest=min(numbers), reported=reported, stored=stored)


async def _recall(context: ScanContext, history: ChannelHistory, answer: Answer, portion: HistoryPortion) -> Recalled:
    async with context.database.connection() as connection:
        missing = await lacking(connection, history.place.key, answer.span, answer.page.messages)
    recalled = await recall(context.lane, history.place.channel, missing, cycle=context.cycle)
    portion.pages += recalled.calls
    return recalled


async def _keep(
    context: ScanContext, history: ChannelHistory, answer: Answer, recalled: Recalled, portion: HistoryPortion
) -> None:
    """One page: its messages, what is deleted, its coverage, the depth and the event (page-and-progress-together)."""
    place, taken, page, span = history.place, IngestTally(), answer.page, answer.span
    claim = context.lane.claim()
    async with owned_transaction(context.database, claim) as connection:
        updates = ChannelUpdates(None, posted=page.messages, edited=recalled.found, deleted=sorted(recalled.gone))
        await take_in(connection, place, updates, claim.account, taken, asked_at=history.at)
        await coverage.add(connection, place.key, dict.fromkeys(Content, span))
        portion.depth = await channel_histories.deepen(connection, place.key, taken.messages, may_read=page.may_read)
        if not page.may_read:
            await channel_histories.close(connection, place)
        # Further down the platform may have counted something newer already.
        if page.total is not None and answer.asked.walk is Walk.NEWEST:
            upto = max([history.known.top, *(message.id for message in page.messages)])
            counted = PlatformCount(place.channel, MessageCounter.MESSAGES, page.total, upto)
            await message_counts.store(connection, context.lane.account.platform, [counted])
        await guilds.note_counts(connection, context.lane.account.platform, page.threads)
        progressed = BackfillProgressed(
            channel=place.channel,
            messages=taken.messages,
            archives=taken.archives,
            deleted=len(recalled.gone),
            upto=None if span is None else span.low,
            depth=portion.depth,
            target=portion.target,
        )
        await feed.record(connection, place.title, progressed)
        if portion.progress is not None and page.may_read:
            await portion.progress(connection, answer)
    portion.tally.add(taken)


def _log_beginning(history: ChannelHistory, wanted: HistoryDepth, asked: PageRound, portion: HistoryPortion) -> None:
    place, known = history.place, history.known
    if asked.phase is BackfillPhase.FIRST:
        line = lines.first_fetch(place.title)
    elif asked.phase is BackfillPhase.CATCH_UP:
        line = lines.catching_up(place.title, known.coverage.spans[-1].high)
    else:
        line = lines.deepening(place.title, portion.rounds, known.messages, wanted)
    log.info(line, channel=place.channel, pages=len(asked.pages))


def _log_end(
    history: ChannelHistory, wanted: HistoryDepth, asked: PageRound, portion: HistoryPortion, before: tuple[int, int]
) -> None:
    """Log what a round has brought, by what was fetched and stored *before* it: pages may overlap what is stored."""
    channel, (fetched, stored) = history.place.channel, before
    if asked.phase is BackfillPhase.CATCH_UP:
        log.info(lines.caught_up(portion.tally.messages - stored), channel=channel)
        return
    log.info(lines.fetched(portion.fetched - fetched), channel=channel)
    log.info(lines.progress(portion.depth, wanted), channel=channel)
