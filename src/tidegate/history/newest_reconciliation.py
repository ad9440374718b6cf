"""Reconciles the newest stored messages with the platform: edits are applied, deletions marked (seed 001)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.channels.queries import channels
from tidegate.core.errors import ENDS_CYCLE, ChannelGone, LongWait, PlatformError
from tidegate.core.ids import ChannelKey
from tidegate.events.kinds.history import ReconcileEnded
from tidegate.events.queries import feed
from tidegate.history import backfill_log as lines
from tidegate.history.backfill import lose_channel
from tidegate.history.history_pages import HistoryPolicy, HistoryPortion, history_lock, load, read_page
from tidegate.history.history_report import HistoryReport
from tidegate.history.queries import channel_histories
from tidegate.history.queries.channel_histories import ChannelHistory
from tidegate.history.rules.backfill_plan import PAGE
from tidegate.history.rules.page_request import PageAsked, Walk
from tidegate.lanes import parking_long_waits
from tidegate.scans.queries.scan_memory import ScanPlace
from tidegate.scans.scan_context import ScanContext, park

log = structlog.get_logger()


@dataclass(slots=True)
class ReconcileResult:
    """What reconciling one channel has shown. *calls* are the pages it took; *parked* is how long it has to wait."""

    place: ScanPlace
    checked: int = 0
    edited: int = 0
    deleted: int = 0
    added: int = 0
    calls: int = 0
    error: str | None = None
    parked: timedelta | None = None

    def event(self) -> ReconcileEnded:
        return ReconcileEnded(
            channel=self.place.channel,
            title=self.place.title,
            checked=self.checked,
            edited=self.edited,
            deleted=self.deleted,
            added=self.added,
            calls=self.calls,
            error=self.error,
            waits_for=None if self.parked is None else round(self.parked.total_seconds()),
            channel_key=self.place.key,
        )


@dataclass(frozen=True, slots=True)
class Reconciled(HistoryReport[ReconcileResult]):
    """What a reconciliation did."""

    @property
    def calls(self) -> int:
        return sum(one.calls for one in self.channels)


async def reconcile_due(
    context: ScanContext, policy: HistoryPolicy, *, since: datetime, last: Collection[ChannelKey] = ()
) -> Reconciled:
    """Reconcile the histories that were not reconciled *since*, as many as a cycle's budget of calls allows.

    The least recent come first, so the next cycle continues with others, also after a restart. Those of which pages
    were read a moment ago (*last*, by channel key) come after all others.
    """
    done = Reconciled()
    if not policy.reconcile_calls:
        return done
    async with context.database.connection() as connection:
        account = context.lane.account.id
        due = await channel_histories.due_for_reconcile(
            connection, account, before=since, most=policy.reconcile_calls, last=last
        )
    if due:
        log.info(lines.reconcile_starting(policy.reconcile_limit), account=context.lane.account.name)
    each = -(-policy.reconcile_limit // PAGE)
    for history in due:
        if done.calls and done.calls + each > policy.reconcile_calls:
            break
        done.channels.append(await _reconcile_one(context, history, policy.reconcile_limit))
    if due:
        log.info(lines.RECONCILE_COMPLETED, account=context.lane.account.name, calls=done.calls)
    return done


async def reconcile(context: ScanContext, found: list[ChannelHistory], *, limit: int) -> Reconciled:
    """Reconcile the newest *limit* messages of these histories, whenever that was last done."""
    return Reconciled([await _reconcile_one(context, history, limit, describe=True) for history in found])


async def _reconcile_one(
    context: ScanContext, history: ChannelHistory, limit: int, *, describe: bool = False
) -> ReconcileResult:
    """Reconcile one channel, with *describe* its description too; an error is reported and stops no other."""
    portion, place = HistoryPortion(), history.place
    result = ReconcileResult(place)
    try:
        async with history_lock(context.lane, place.key):
            with parking_long_waits():
                await _read_newest(context, history, limit, portion)
                if describe:
                    await _describe(context, place, portion)
    except ENDS_CYCLE:
        raise
    except LongWait as wait:
        result.parked = wait.pause
        await park(context, place, wait)
    except PlatformError as problem:
        result.error = str(problem)
        log.warning(lines.failed(place.title, place.channel, problem))
        if isinstance(problem, ChannelGone):
            await lose_channel(context, place, problem)
    result.checked, result.calls = portion.fetched, portion.pages
    result.edited, result.deleted, result.added = portion.tally.edited, portion.tally.deleted, portion.tally.messages
    async with owned_transaction(context.database, context.lane.claim()) as connection:
        if result.error is None and result.parked is None:
            await channel_histories.note_reconciled(connection, place.key)
        await feed.record(connection, place.title, result.event())
    return result


async def _describe(context: ScanContext, place: ScanPlace, portion: HistoryPortion) -> None:
    """Store the channel's description, where the platform has to be asked for it."""
    description = await context.lane.description(place.channel)
    if description is not None:
        portion.pages += 1
        async with owned_transaction(context.database, context.lane.claim()) as connection:
            await channels.note_description(connection, place.key, description)


async def _read_newest(context: ScanContext, history: ChannelHistory, limit: int, portion: HistoryPortion) -> None:
    """Read the newest pages, whatever coverage says, until *limit* messages were shown or the history began."""
    asked, current = PageAsked(Walk.NEWEST), await load(context, history.place.key)
    while current is not None and portion.fetched < limit:
        page = await read_page(context, current, asked, portion)
        if page.reached_start or not page.messages:
            return
        asked = PageAsked(Walk.BEFORE, min(message.id for message in page.messages))
        current = await load(context, history.place.key)
