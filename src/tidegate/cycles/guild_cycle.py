"""One pass over an account's guilds: fetch the head of every channel, then read only what changed (seed 001)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime

import structlog

from tidegate.accounts.queries import accounts
from tidegate.channels.queries import channels, guilds
from tidegate.core.clock import Clock
from tidegate.core.errors import ENDS_CYCLE, ChannelGone, LongWait, PlatformError
from tidegate.core.ids import CallId, ChannelId, ChannelKey, CycleNumber, UserId
from tidegate.cycles.archived_threads import list_archived
from tidegate.cycles.cycle import CyclePolicy
from tidegate.cycles.cycle_report import CycleReport, keep_report
from tidegate.cycles.message_count_check import recount
from tidegate.cycles.queries import cycles
from tidegate.database.pool import Database
from tidegate.history.backfill import backfill, lose_channel
from tidegate.history.history_pages import load, look_at_newest
from tidegate.history.newest_reconciliation import reconcile_due
from tidegate.history.queries import channel_histories
from tidegate.history.queries.channel_histories import ChannelHistory
from tidegate.lanes import Lane, parking_long_waits
from tidegate.media import avatars
from tidegate.platforms.interface import ChannelKind, Head
from tidegate.scans.queries.scan_memory import CHAT_TROUBLE
from tidegate.scans.rules.scan_decision import Verdict
from tidegate.scans.scan_context import ScanContext

log = structlog.get_logger()

Heads = Mapping[ChannelId, Head]


def unknown() -> None:
    """The heads where no push updates report them."""


async def run_guild_cycle(
    lane: Lane,
    database: Database,
    clock: Clock,
    policy: CyclePolicy,
    *,
    heads: Callable[[], Heads | None] = unknown,
    only: Collection[ChannelId] | None = None,
    since: CallId | None = None,
    compared_since: datetime | None = None,
) -> CycleReport:
    """Make one pass over the account's guilds, or over *only* some channels, which does not count as a cycle.

    *heads* returns the heads that push updates reported, which cost no call; for None the platform is asked. Messages
    not compared with the platform since *compared_since* are compared, within the budget of calls for that.
    """
    with parking_long_waits():
        began = clock.ticks()
        async with database.transaction() as connection:
            await accounts.fence(connection, lane.claim())
            await channels.claim_readers(connection, lane.account.id)
            number, now = await cycles.current(connection, lane.account.id)
            marked = await cycles.mark(connection) if since is None else since
        report = CycleReport(
            lane.account.name, number if only is not None else CycleNumber(number + 1), whole=only is None
        )
        context = ScanContext(lane, database, report.cycle, policy.limits, policy.retries)
        if only is None:
            await _survey(context, heads, report)
            await _find_chats(context, report)
        looked = await _look_as_asked(context, report, only)
        read = looked | await _read(context, policy, report, only)
        await _find_threads(context, policy, report)
        report.reconcile_calls += await recount(replace(context, cycle=None), report.tally, only=only)
        if only is None and compared_since is not None:
            apart = replace(context, cycle=None)
            done = await reconcile_due(apart, policy.history, since=compared_since, last=read)
            report.reconcile_calls += done.calls
            report.troubles += [one.place.trouble(one.error) for one in done.channels if one.error]
        report.seconds = clock.ticks() - began
        if not (report.whole or read):
            return report  # a hint about a channel from which nothing is missing
        await lane.write_ledger()
        async with database.transaction() as connection:
            await accounts.fence(connection, lane.claim(), to_change=report.whole)
            await keep_report(connection, lane, report, now, since=marked)
        return report


# The heads of the channels


async def _survey(context: ScanContext, heads: Callable[[], Heads | None], report: CycleReport) -> None:
    """Fetch the head of every channel, and store it."""
    reported = heads()
    try:
        survey = await context.lane.survey(cycle=context.cycle) if reported is None else reported
    except LongWait as wait:  # messages known to be missing can still be read
        report.parked[None] = wait.pause
        return
    survey, asleep = await _store_survey(context, heads, survey)
    report.gated = len(survey)
    # Only the history shows what was posted before a thread was archived, unless push updates covered all of it.
    for key in asleep if reported is None else ():
        await _look(context, key, report)


async def _find_chats(context: ScanContext, report: CycleReport) -> None:
    """Ask for the heads of mirrored private chats that no survey has and no push update has shown in this session."""
    lane = context.lane
    known = lane.known_heads() or {}
    async with context.database.connection() as connection:
        wanted = [number for number in await guilds.chats(connection, lane.account.id) if number not in known]
    for number in wanted:
        try:
            head = await lane.chat_head(number, cycle=context.cycle)
        except ENDS_CYCLE:
            raise
        except PlatformError as problem:
            report.troubles.append(CHAT_TROUBLE)
            log.warning("chat.unknown", account=lane.account.name, channel=number, problem=str(problem))
            continue
        if head is not None:
            async with context.database.transaction() as connection:
                await accounts.fence(connection, lane.claim(), to_change=True)
                await guilds.see(connection, lane.account.platform, lane.account.id, {number: head})


async def open_chat(context: ScanContext, person: UserId) -> ChannelId:
    """Learn of the private chat with a person, so that it can be mirrored; returns its number."""
    lane = context.lane
    number, head = await lane.open_chat(person)
    async with context.database.transaction() as connection:
        await accounts.fence(connection, lane.claim(), to_change=True)
        await guilds.see(connection, lane.account.platform, lane.account.id, {number: head})
    return number


async def _store_survey(
    context: ScanContext, heads: Callable[[], Heads | None], survey: Heads
) -> tuple[Heads, list[ChannelKey]]:
    """Store a survey, by the newest push updates; returns what was stored, and the threads that it no longer names.

    Updates may have been stored since *survey* was made. So *heads* are read again while the account is locked and no
    update can be stored. Otherwise a survey would revive a channel that an update reported as deleted.
    """
    account = context.lane.account
    async with context.database.transaction() as connection:
        await accounts.fence(connection, context.lane.claim(), to_change=True)
        newest = heads()
        stored = survey if newest is None else newest
        await guilds.see(connection, account.platform, account.id, stored)
        await avatars.note_channels(connection, account.platform, (head.channel for head in stored.values()))
        return stored, await guilds.miss(connection, account.platform, account.id, stored)


async def _look_as_asked(
    context: ScanContext, report: CycleReport, only: Collection[ChannelId] | None
) -> set[ChannelKey]:
    """Check the channels that people requested, whatever is known about them; for a board, list its threads."""
    account = context.lane.account.id
    async with context.database.connection() as connection:
        asked = await channel_histories.asked(connection, account, only=only)
        boards = [one for one in await guilds.parents(connection, account) if one.key in asked] if asked else []
    for board in boards:
        if board.kind is ChannelKind.BOARD:
            await list_archived(context, board, report.troubles)
    for key, (kind, _) in asked.items():
        if kind != ChannelKind.BOARD.value:
            await _look(context, key, report)
    async with context.database.transaction() as connection:
        await accounts.fence(connection, context.lane.claim())
        await channel_histories.answer_asks(connection, {key: ask for key, (_, ask) in asked.items()})
        await channel_histories.note_looks(connection, account, dict.fromkeys(asked, Verdict.ASKED), whole=False)
    report.verdicts[Verdict.ASKED] += len(asked)
    return set(asked)


async def _look(context: ScanContext, key: ChannelKey, report: CycleReport) -> None:
    """Read the newest page of a channel; messages missing below it are an ordinary gap."""
    history = await load(context, key)
    try:
        portion = await look_at_newest(context, key)
    except ENDS_CYCLE:
        raise
    except PlatformError as problem:
        private = history is not None and history.place.private_chat
        report.troubles.append(CHAT_TROUBLE if private else str(problem))
        log.warning("look.unfinished", key=key, problem=str(problem))
        if isinstance(problem, ChannelGone) and history is not None:
            await lose_channel(context, history.place, problem)
    else:
        report.tally.add(portion.tally)


# Channels that changed


async def _read(
    context: ScanContext, policy: CyclePolicy, report: CycleReport, only: Collection[ChannelId] | None = None
) -> set[ChannelKey]:
    """Read part of every history with missing messages; returns the keys of the channels that were read."""
    async with context.database.connection() as connection:
        account = context.lane.account.id
        found = await channel_histories.unfinished(connection, account, policy.history.target)
        known = await channel_histories.count(connection, account)
    chosen = [one for one in found if only is None or one.place.channel in only]
    looked = {one.place.key: verdict_of(one) for one in chosen}
    report.verdicts.update(looked.values())
    moved = sum(verdict is not Verdict.UNCHANGED for verdict in looked.values())
    report.changed += moved
    if only is None:
        report.verdicts[Verdict.UNCHANGED] = known - moved
    done = await backfill(context, policy.history, chosen, one_portion=True)
    report.tally.messages += sum(one.stored for one in done.channels)
    report.troubles += [one.place.trouble(one.error) for one in done.channels if one.error]
    report.parked |= {one.place.channel: one.parked for one in done.channels if one.parked is not None}
    report.private |= {one.place.channel for one in done.channels if one.place.private_chat}
    async with context.database.transaction() as connection:
        await accounts.fence(connection, context.lane.claim())
        await channel_histories.note_looks(connection, account, looked, whole=only is None)
    return set(looked)


def verdict_of(history: ChannelHistory) -> Verdict:
    """The verdict on a history with missing messages, by its head alone; only older messages may be missing."""
    known = history.known
    if not known.coverage.spans:
        return Verdict.FIRST
    return Verdict.UNCHANGED if known.head in known.coverage else Verdict.CHANGED


# Archived threads


async def _find_threads(context: ScanContext, policy: CyclePolicy, report: CycleReport) -> None:
    """List the archived threads of channels that mention an unknown one, and read those."""
    async with context.database.connection() as connection:
        parents = await guilds.with_unknown_threads(connection, context.lane.account.id)
    found: set[ChannelId] = set()
    for parent in parents:
        found |= await list_archived(context, parent, report.troubles)
    if found:
        await _read(context, policy, report, found)


async def look_around(context: ScanContext) -> Heads:
    """Store the current head of every channel, without a call where push updates reported it."""
    heads, _ = await _store_survey(context, context.lane.known_heads, await context.lane.survey())
    return heads


async def sync_guilds(context: ScanContext) -> int:
    """List every channel and archived thread the account sees, private ones where permitted; returns their count.
    Channels that can be read are mirrored from then on.
    """
    await look_around(context)
    async with context.database.connection() as connection:
        parents = await guilds.parents(connection, context.lane.account.id)
    troubles: list[str] = []
    for parent in parents:
        await list_archived(context, parent, troubles, private=True)
    for trouble in troubles:
        log.warning("threads.unlisted", account=context.lane.account.name, problem=trouble)
    async with context.database.connection() as connection:
        return await channels.count_seen(connection, context.lane.account.id)
