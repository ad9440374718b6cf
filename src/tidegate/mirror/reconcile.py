"""Comparing what is stored of the newest messages with the platform: edits applied, deletions marked (seed 001)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import structlog

from tidegate.errors import ChannelGone, PlatformError
from tidegate.mirror import history_lines as lines
from tidegate.mirror.backfill import lose_channel
from tidegate.mirror.history import HistoryHabits, Turn, load, read_page, turn_of
from tidegate.mirror.scan import FINAL, Hand
from tidegate.rules.backfilling import PAGE
from tidegate.rules.history import PageAsked, Walk
from tidegate.store import accounts, feed, histories
from tidegate.store.histories import History
from tidegate.store.places import Place

log = structlog.get_logger()


@dataclass(slots=True)
class Compared:
    """What comparing one channel has shown. *calls* are the pages it took."""

    place: Place
    checked: int = 0
    edited: int = 0
    deleted: int = 0
    added: int = 0
    calls: int = 0
    error: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "channel": self.place.channel,
            "title": self.place.title,
            "checked": self.checked,
            "edited": self.edited,
            "deleted": self.deleted,
            "added": self.added,
            "calls": self.calls,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What a reconciliation did, as ``tidegate reconcile`` prints it."""

    channels: list[Compared] = field(default_factory=list)

    @property
    def calls(self) -> int:
        return sum(one.calls for one in self.channels)

    def as_json(self) -> dict[str, Any]:
        failed = sum(one.error is not None for one in self.channels)
        return {
            "channels": [one.as_json() for one in self.channels],
            "succeeded": len(self.channels) - failed,
            "failed": failed,
        }


async def reconcile_due(hand: Hand, habits: HistoryHabits, *, since: datetime, but: Collection[int] = ()) -> Reconciled:
    """Compare the histories that were not compared *since*, as many as a cycle's budget of calls allows.

    The least recently compared come first, so the next cycle goes on with others, also after a restart. Those of
    which pages were read a moment ago (*but*, by channel key) have time until then.
    """
    done = Reconciled()
    if not habits.reconcile_calls:
        return done
    async with hand.database.connection() as connection:
        account = hand.lane.account.id
        due = await histories.to_verify(connection, account, before=since, most=habits.reconcile_calls, but=but)
    if due:
        log.info(lines.sync_starting(habits.sync_limit), account=hand.lane.account.name)
    each = -(-habits.sync_limit // PAGE)
    for history in due:
        if done.calls and done.calls + each > habits.reconcile_calls:
            break
        done.channels.append(await _compared(hand, history, habits.sync_limit))
    if due:
        log.info(lines.SYNC_COMPLETED, account=hand.lane.account.name, calls=done.calls)
    return done


async def reconcile(hand: Hand, found: list[History], *, limit: int) -> Reconciled:
    """Compare the newest *limit* messages of these histories, whenever that was last done."""
    return Reconciled([await _compared(hand, history, limit) for history in found])


async def _compared(hand: Hand, history: History, limit: int) -> Compared:
    """One channel; its trouble is told and stops no other."""
    turn, place = Turn(), history.place
    result = Compared(place)
    try:
        async with turn_of(hand.lane, place.key):
            await _read_newest(hand, history, limit, turn)
    except FINAL:
        raise
    except PlatformError as problem:
        result.error = str(problem)
        log.warning(lines.failed(place.title, place.channel, problem))
        if isinstance(problem, ChannelGone):
            await lose_channel(hand, place, problem)
    result.checked, result.calls = turn.fetched, turn.pages
    result.edited, result.deleted, result.added = turn.tally.edited, turn.tally.deleted, turn.tally.messages
    async with hand.database.transaction() as connection:
        await accounts.fence(connection, hand.lane.claim())
        if result.error is None:
            await histories.note_verified(connection, place.key)
        await feed.record(connection, "reconcile.ended", place.title, result.as_json())
    return result


async def _read_newest(hand: Hand, history: History, limit: int, turn: Turn) -> None:
    """Read the newest pages, whatever coverage says, until *limit* messages were shown or the history began."""
    asked, current = PageAsked(Walk.NEWEST), await load(hand, history.place.key)
    while current is not None and turn.fetched < limit:
        page = await read_page(hand, current, asked, turn)
        if page.reached_start or not page.messages:
            return
        asked = PageAsked(Walk.BEFORE, min(message.id for message in page.messages))
        current = await load(hand, history.place.key)
