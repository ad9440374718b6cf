"""Reading the history of a channel that is mirrored in full: one turn of rounds, each page a transaction of its own."""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import structlog

from tidegate.errors import Refused
from tidegate.lanes import Lane
from tidegate.mirror import history_lines as lines
from tidegate.mirror.intake import Tally, take_in
from tidegate.mirror.scan import FINAL, Hand
from tidegate.port import ChannelId, MessageId, News, Page
from tidegate.rules.backfilling import PAGE, Depth, Manner, Phase, Round, TurnBudget, next_round
from tidegate.rules.history import Content, PageAsked, Span, Walk, proven, proven_deleted
from tidegate.store import accounts, coverage, feed, histories, messages
from tidegate.store.histories import History

log = structlog.get_logger()

_turns: WeakKeyDictionary[Lane, defaultdict[int, asyncio.Lock]] = WeakKeyDictionary()
"""Who has a turn, by lane and channel. An account has one lane anywhere, and a channel one account that reads it."""


@dataclass(frozen=True, slots=True)
class HistoryHabits:
    """The operator's knobs for histories."""

    turn: TurnBudget = field(default_factory=TurnBudget)
    concurrency: int = 2
    target: int = 50_000
    sync_limit: int = 200
    reconcile_calls: int = 50


@dataclass(slots=True)
class Turn:
    """What one turn has read, of *target* messages. *finished* says that all that is wanted of the history is there.

    *compared* is how many of the newest messages it has seen without a gap, and so compared with what is stored.
    """

    target: int | None = None

    fetched: int = 0
    pages: int = 0
    rounds: int = 0
    compared: int = 0
    finished: bool = False
    tally: Tally = field(default_factory=Tally)


def turn_of(lane: Lane, key: int) -> asyncio.Lock:
    """Held by whoever reads a channel's history: a cycle and a command never fetch the same page."""
    return _turns.setdefault(lane, defaultdict(asyncio.Lock))[key]


async def take_turn(hand: Hand, key: int, habits: HistoryHabits, *, wanted: Depth | None = None) -> Turn:
    """Read on in a history for one turn: what is new, then gaps, then deeper, until it is *wanted* no deeper.

    What a round shows is stored page by page, and the next round starts from what is stored. So a turn can end
    anywhere, by its budget or by a crash, and the next one goes on there.
    """
    turn = Turn()
    async with turn_of(hand.lane, key):
        while history := await load(hand, key):
            depth = wanted or history.wanted(habits.target)
            turn.target = depth.messages
            at_once = habits.turn.pages(rounds=turn.rounds, fetched=turn.fetched)
            asked = next_round(history.known, depth, manner=_manner(hand, habits), at_once=max(at_once, 1))
            turn.finished = asked is None
            if asked is None or not at_once:
                break
            await _read_round(hand, history, depth, asked, turn)
            if asked.phase is Phase.DEEPEN and turn.compared == (turn.rounds - 1) * PAGE:
                turn.compared += PAGE  # the first page of such a round goes on where the one before ended
        if turn.compared >= habits.sync_limit:
            await _note_compared(hand, key)
    return turn


async def _note_compared(hand: Hand, key: int) -> None:
    """A turn that read the newest messages anyway has compared them too, so nobody has to ask for them again."""
    async with hand.database.transaction() as connection:
        await accounts.fence(connection, hand.lane.claim())
        await histories.note_verified(connection, key)


async def look_at_newest(hand: Hand, key: int) -> Turn:
    """Read the newest page of a channel, whatever its head is said to be; what it leaves open is a gap like any."""
    turn = Turn()
    async with turn_of(hand.lane, key):
        history = await load(hand, key)
        if history is not None:
            await read_page(hand, history, PageAsked(Walk.NEWEST), turn)
    return turn


async def load(hand: Hand, key: int) -> History | None:
    """What is stored of a history now; None when it is no longer this account's to read."""
    async with hand.database.connection() as connection:
        found = await histories.of_reader(connection, hand.lane.account.id, only=[key])
    return found[0] if found else None


def _manner(hand: Hand, habits: HistoryHabits) -> Manner:
    upwards = hand.lane.reads_up
    return Manner(upwards=upwards, overlap=upwards and habits.reconcile_calls > 0)


async def _read_round(hand: Hand, history: History, wanted: Depth, asked: Round, turn: Turn) -> None:
    """Ask for the pages of a round at once and keep each; one that fails takes no other with it."""
    before, turn.rounds = turn.fetched, turn.rounds + 1
    _tell_beginning(history, wanted, asked, turn)
    done = await asyncio.gather(*(read_page(hand, history, page, turn) for page in asked.pages), return_exceptions=True)
    problems = [problem for problem in done if isinstance(problem, BaseException)]
    for problem in problems:
        tell = lines.failed_catching_up if asked.phase is Phase.CATCH_UP else lines.failed_batch
        log.warning(tell(problem), channel=history.place.channel)
    if problems:
        raise next((problem for problem in problems if isinstance(problem, FINAL)), problems[0])
    _tell_end(history, wanted, asked, turn.fetched - before)


async def read_page(hand: Hand, history: History, asked: PageAsked, turn: Turn) -> Page:
    """Ask for one page and keep what it shows and proves."""
    page = await _ask(hand, history.place.channel, asked)
    numbers: list[int] = [message.id for message in page.messages]
    turn.pages += 1
    turn.fetched += len(numbers)
    ended = page.reached_head if asked.walk is Walk.AFTER else page.reached_start
    span = proven(asked, numbers, head=history.known.top, ended=ended, may_read=page.may_read)
    await _keep(hand, history, page, span, turn)
    if asked.walk is Walk.NEWEST and page.may_read:
        turn.compared = sys.maxsize if page.reached_start else PAGE
    if not page.may_read:
        raise Refused(
            f'The account may not read the history of "{history.place.title}"; grant it Read Message History.'
        )
    return page


async def _ask(hand: Hand, channel: ChannelId, asked: PageAsked) -> Page:
    bound = None if asked.bound is None else MessageId(asked.bound)
    if asked.walk is Walk.AFTER and bound is not None:
        return await hand.lane.page_after(channel, after=bound, cycle=hand.cycle)
    return await hand.lane.page(channel, before=bound, cycle=hand.cycle)


async def _keep(hand: Hand, history: History, page: Page, span: Span | None, turn: Turn) -> None:
    """One page: its messages, what it proves deleted, its coverage, the depth and the event, all or nothing (law 5)."""
    place, taken = history.place, Tally()
    async with hand.database.transaction() as connection:
        claim = hand.lane.claim()
        await accounts.fence(connection, claim)
        stored = [] if span is None else await messages.between(connection, place.key, span.low, span.high)
        gone = proven_deleted(stored, {message.id for message in page.messages}, span, Content.MESSAGES)
        news = News(None, posted=page.messages, deleted=[MessageId(number) for number in sorted(gone)])
        await take_in(connection, place, news, claim.account, taken, asked_at=history.at)
        await coverage.add(connection, place.key, dict.fromkeys(Content, span))
        depth = await histories.deepen(connection, place.key, taken.messages)
        if not page.may_read:
            await histories.close(connection, place)
        told = {
            "channel": place.channel,
            "messages": taken.messages,
            "archives": taken.archives,
            "deleted": len(gone),
            "upto": None if span is None else span.low,
            "depth": depth,
            "target": turn.target,
        }
        await feed.record(connection, "backfill.progressed", place.title, told)
    turn.tally.add(taken)


def _tell_beginning(history: History, wanted: Depth, asked: Round, turn: Turn) -> None:
    place, known = history.place, history.known
    if asked.phase is Phase.FIRST:
        line = lines.first_fetch(place.title)
    elif asked.phase is Phase.CATCH_UP:
        line = lines.catching_up(place.title, known.coverage.spans[-1].high)
    else:
        line = lines.deepening(place.title, turn.rounds, known.messages, wanted)
    log.info(line, channel=place.channel, pages=len(asked.pages))


def _tell_end(history: History, wanted: Depth, asked: Round, messages: int) -> None:
    channel, depth = history.place.channel, history.known.messages + messages
    if asked.phase is Phase.CATCH_UP:
        log.info(lines.caught_up(messages, depth, wanted), channel=channel)
        return
    log.info(lines.fetched(messages), channel=channel)
    log.info(lines.progress(depth, wanted), channel=channel)
