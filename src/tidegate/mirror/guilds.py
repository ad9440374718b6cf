"""One pass over an account's guilds: where every channel stands, then only what moved (seed 001)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime

import structlog

from tidegate.clock import Clock
from tidegate.errors import ChannelGone, PlatformError, Refused
from tidegate.lanes import Lane
from tidegate.mirror.backfill import backfill, lose_channel
from tidegate.mirror.cycle import CycleHabits
from tidegate.mirror.history import load, look_at_newest
from tidegate.mirror.reconcile import reconcile_due
from tidegate.mirror.report import Report, keep_report
from tidegate.mirror.scan import FINAL, Hand
from tidegate.port import CannotAsk, ChannelId, Cursor, Head
from tidegate.rules.scanning import Verdict
from tidegate.store import accounts, channels, cycles, guilds, histories
from tidegate.store.database import Database
from tidegate.store.guilds import Parent
from tidegate.store.histories import History

log = structlog.get_logger()

Heads = Mapping[ChannelId, Head]


async def run_guild_cycle(
    lane: Lane,
    database: Database,
    clock: Clock,
    habits: CycleHabits,
    *,
    heads: Heads | None,
    only: Collection[ChannelId] | None = None,
    since: int | None = None,
    compared_since: datetime | None = None,
) -> Report:
    """Make one pass over the account's guilds, or over *only* some channels, which does not count as a cycle.

    *heads* are where the channels stand when the platform has told it, which costs nothing; else it is asked. What was
    not compared with the platform since *compared_since* is, within the budget of calls for that.
    """
    began = clock.ticks()
    async with database.transaction() as connection:
        await accounts.fence(connection, lane.claim())
        await channels.claim_readers(connection, lane.account.id)
        number, now = await cycles.current(connection, lane.account.id)
        marked = await cycles.mark(connection) if since is None else since
    report = Report(lane.account.name, number if only is not None else number + 1, whole=only is None)
    hand = Hand(lane, database, report.cycle, habits.limits, habits.retries)
    if only is None:
        await _survey(hand, heads, report)
    read = await _read(hand, habits, report, only)
    await _find_threads(hand, habits, report)
    if only is None and compared_since is not None:
        apart = replace(hand, cycle=None)
        done = await reconcile_due(apart, habits.history, since=compared_since, but=read)
        report.reconcile_calls = done.calls
        report.troubles += [f"{one.place.title}: {one.error}" for one in done.channels if one.error]
    report.seconds = clock.ticks() - began
    if not (report.whole or read):
        return report  # a hint of a channel of which nothing is missing
    await lane.write_ledger()
    async with database.transaction() as connection:
        await accounts.fence(connection, lane.claim(), to_change=report.whole)
        await keep_report(connection, lane, report, now, since=marked)
    return report


# Where the channels stand


async def _survey(hand: Hand, heads: Heads | None, report: Report) -> None:
    """Learn where every channel stands, and take that down."""
    asked = heads is None
    told = await hand.lane.survey(cycle=hand.cycle) if heads is None else heads
    report.gated = len(told)
    async with hand.database.transaction() as connection:
        await accounts.fence(connection, hand.lane.claim())
        await guilds.see(connection, hand.lane.account.id, told)
        asleep = await guilds.miss(connection, hand.lane.account.id, told)
    for key in asleep if asked else ():  # where the platform tells by itself, what was posted before was told
        await _look_once_more(hand, key, report)


async def _look_once_more(hand: Hand, key: int, report: Report) -> None:
    """A thread went to sleep between two cycles: whether something was posted before, only its history says."""
    history = await load(hand, key)
    try:
        turn = await look_at_newest(hand, key)
    except FINAL:
        raise
    except PlatformError as problem:
        report.troubles.append(str(problem))
        if isinstance(problem, ChannelGone) and history is not None:
            await lose_channel(hand, history.place, problem)
    else:
        report.tally.add(turn.tally)


# What moved


async def _read(hand: Hand, habits: CycleHabits, report: Report, only: Collection[ChannelId] | None = None) -> set[int]:
    """Have a turn in every history that lacks something; the keys of those that were read."""
    async with hand.database.connection() as connection:
        account = hand.lane.account.id
        found = await histories.unfinished(connection, account, habits.history.target)
        known = await histories.count(connection, account)
    chosen = [one for one in found if only is None or one.place.channel in only]
    looked = {one.place.key: verdict_of(one) for one in chosen}
    report.verdicts.update(looked.values())
    moved = sum(verdict is not Verdict.UNCHANGED for verdict in looked.values())
    report.changed += moved
    if only is None:
        report.verdicts[Verdict.UNCHANGED] = known - moved
    done = await backfill(hand, habits.history, chosen, one_turn=True)
    report.tally.messages += sum(one.stored for one in done.channels)
    report.troubles += [f"{one.place.title}: {one.error}" for one in done.channels if one.error]
    async with hand.database.transaction() as connection:
        await accounts.fence(connection, hand.lane.claim())
        await histories.note_looks(connection, account, looked, whole=only is None)
    return set(looked)


def verdict_of(history: History) -> Verdict:
    """What its head says about a history of which something is missing; further down it may be unchanged."""
    known = history.known
    if not known.coverage.spans:
        return Verdict.FIRST
    return Verdict.UNCHANGED if known.head in known.coverage else Verdict.CHANGED


# Threads that are asleep


async def _find_threads(hand: Hand, habits: CycleHabits, report: Report) -> None:
    """List the archived threads of channels that speak of one nobody has told of, and read those."""
    async with hand.database.connection() as connection:
        parents = await guilds.with_unknown_threads(connection, hand.lane.account.id)
    found: set[ChannelId] = set()
    for parent in parents:
        found |= await list_archived(hand, parent, report.troubles)
    if found:
        await _read(hand, habits, report, found)


async def list_archived(hand: Hand, parent: Parent, troubles: list[str], *, private: bool = False) -> set[ChannelId]:
    """List a channel's archived threads, the last archived first, down to those known; returns their numbers.

    With *private* also those, where the account may; where it may not, the channel says so and all else goes on.
    """
    found: set[ChannelId] = set()
    remark: str | None = None
    try:
        if not (private and parent.listed):
            found |= await _list(hand, parent, private=False)
        if private:
            found |= await _list(hand, parent, private=True)
    except FINAL:
        raise
    except CannotAsk:
        remark = None
    except Refused as problem:
        remark = str(problem)
    except PlatformError as problem:
        troubles.append(f"{parent.title}: {problem}")
        return found
    async with hand.database.transaction() as connection:
        await accounts.fence(connection, hand.lane.claim())
        await guilds.note_listed(connection, parent.key, private=private, remark=remark)
    return found


async def _list(hand: Hand, parent: Parent, *, private: bool) -> set[ChannelId]:
    found: set[ChannelId] = set()
    cursor: Cursor | None = None
    while True:
        page = await hand.lane.archived_threads(parent.number, private=private, after=cursor, cycle=hand.cycle)
        async with hand.database.transaction() as connection:
            await accounts.fence(connection, hand.lane.claim())
            known = parent.listed and not private and await guilds.are_known(connection, page.heads)
            await guilds.see(connection, hand.lane.account.id, page.heads)
        found |= page.heads.keys()
        if page.next is None or known:
            return found
        cursor = page.next


async def look_around(hand: Hand) -> Heads:
    """Take down where every channel stands now, which costs nothing where the platform has told it."""
    heads = await hand.lane.survey()
    async with hand.database.transaction() as connection:
        await accounts.fence(connection, hand.lane.claim())
        await guilds.see(connection, hand.lane.account.id, heads)
        await guilds.miss(connection, hand.lane.account.id, heads)
    return heads


async def sync_guilds(hand: Hand) -> int:
    """List every channel the account sees, and all archived threads, private ones where it may; how many there are.

    What can be read is mirrored from then on.
    """
    heads = await look_around(hand)
    async with hand.database.connection() as connection:
        parents = await guilds.parents(connection, hand.lane.account.id)
    troubles: list[str] = []
    found = {number for parent in parents for number in await list_archived(hand, parent, troubles, private=True)}
    for trouble in troubles:
        log.warning("threads.unlisted", account=hand.lane.account.name, problem=trouble)
    return len({*heads, *found})
