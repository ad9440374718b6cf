"""Reading many histories: several channels at once, turn after turn, until each is as deep as wanted (seed 001)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from tidegate.errors import ChannelGone, PlatformError
from tidegate.mirror import history_lines as lines
from tidegate.mirror.history import HistoryHabits, load, take_turn
from tidegate.mirror.scan import FINAL, Hand
from tidegate.port import ChannelDeleted
from tidegate.rules.backfilling import Depth, Known
from tidegate.side_by_side import together
from tidegate.store import accounts, channels, feed, guilds, histories
from tidegate.store.histories import History
from tidegate.store.places import Place

log = structlog.get_logger()


@dataclass(slots=True)
class Backfilled:
    """What a backfill did for one channel. *calls* are the pages it asked for."""

    place: Place
    known: Known
    fetched: int = 0
    stored: int = 0
    calls: int = 0
    error: str | None = None

    def as_json(self) -> dict[str, Any]:
        top = self.known.top
        return {
            "channel": self.place.channel,
            "title": self.place.title,
            "fetched": self.fetched,
            "stored": self.stored,
            "coverage": [[low, high] for low, high in self.known.coverage.spans],
            "gaps": [[low, high] for low, high in self.known.coverage.gaps(head=top)] if top else [],
            "reached_start": self.known.coverage.reached_start,
            "calls": self.calls,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class Backfill:
    """What a backfill did, as ``tidegate backfill`` prints it."""

    channels: list[Backfilled] = field(default_factory=list)

    @property
    def succeeded(self) -> int:
        return sum(one.error is None for one in self.channels)

    def as_json(self) -> dict[str, Any]:
        return {
            "channels": [one.as_json() for one in self.channels],
            "succeeded": self.succeeded,
            "failed": len(self.channels) - self.succeeded,
        }


async def backfill_missing(hand: Hand, habits: HistoryHabits) -> Backfill:
    """Read every history of the account of which something is missing, those with news first."""
    async with hand.database.connection() as connection:
        found = await histories.unfinished(connection, hand.lane.account.id, habits.target)
    return await backfill(hand, habits, found)


async def backfill(
    hand: Hand,
    habits: HistoryHabits,
    found: Sequence[History],
    *,
    wanted: Depth | None = None,
    one_turn: bool = False,
) -> Backfill:
    """Read these histories as deep as *wanted*, or as deep as each usually is.

    Each channel has a turn of its own and then queues again behind the others, unless *one_turn* is all it gets. One
    channel's trouble ends that channel alone, and the report says which and why.
    """
    done = Backfill([Backfilled(one.place, one.known) for one in found])
    if found:
        log.info(lines.found(len(found)), account=hand.lane.account.name)
        log.info(lines.starting(len(found), habits.concurrency), account=hand.lane.account.name)
        await _work_off(hand, habits, wanted, done, one_turn=one_turn)
        _tell_summary(hand, done)
    return done


async def _work_off(hand: Hand, habits: HistoryHabits, wanted: Depth | None, done: Backfill, *, one_turn: bool) -> None:
    queue = deque(done.channels)

    async def work() -> None:
        while queue:
            one = queue.popleft()
            if await _goes_on(hand, habits, wanted, one) and not one_turn:
                queue.append(one)

    await together(*(work() for _ in range(min(habits.concurrency, len(queue)))))


async def _goes_on(hand: Hand, habits: HistoryHabits, wanted: Depth | None, one: Backfilled) -> bool:
    """One turn of one channel; whether it has to queue again."""
    try:
        turn = await take_turn(hand, one.place.key, habits, wanted=wanted)
    except FINAL:
        raise
    except PlatformError as problem:
        one.error = str(problem)
        log.warning(lines.failed(one.place.title, one.place.channel, problem))
        if isinstance(problem, ChannelGone):
            await lose_channel(hand, one.place, problem)
    else:
        one.fetched += turn.fetched
        one.stored += turn.tally.messages
        one.calls += turn.pages
        if not turn.finished and turn.pages:
            return True
    history = await load(hand, one.place.key)
    one.known = one.known if history is None else history.known
    await _end(hand, one, wanted or _usual(history, habits))
    return False


def _usual(history: History | None, habits: HistoryHabits) -> Depth:
    return Depth(habits.target) if history is None else history.wanted(habits.target)


async def _end(hand: Hand, one: Backfilled, wanted: Depth) -> None:
    """Tell how the backfill of a channel ended, in the log and in the feed."""
    title, depth = one.place.title, one.known.messages
    if one.error is None and one.calls:
        if one.known.coverage.reached_start:
            log.info(lines.fully_backfilled(title))
        log.info(lines.completed(title, depth, wanted, one.fetched))
    elif one.error is None:
        log.info(lines.deep_enough(title, depth, wanted))
    async with hand.database.transaction() as connection:
        await accounts.fence(connection, hand.lane.claim())
        await feed.record(connection, "backfill.ended", title, one.as_json())


async def lose_channel(hand: Hand, place: Place, problem: ChannelGone) -> None:
    """A channel was deleted, or the account can no longer see it: then another that can reads on, if there is one."""
    async with hand.database.transaction() as connection:
        await accounts.fence(connection, hand.lane.claim())
        if isinstance(problem, ChannelDeleted):
            await guilds.lose(connection, place.channel)
            return
        kept = await channels.find(connection, str(place.channel))
        await channels.lose_sight(connection, hand.lane.account.id, kept)


def _tell_summary(hand: Hand, done: Backfill) -> None:
    named = {"account": hand.lane.account.name}
    log.info(lines.RULE, **named)
    log.info(lines.summary(done.succeeded, len(done.channels)), **named)
    log.info(lines.RULE, **named)
