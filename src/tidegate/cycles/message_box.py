"""An account's message box, which its private chats share: one counter of changes, one difference for all of them.

A chat *follows* the box once it was read: its place then has a counter, and every later change of the box is applied to
it. Updates of the box are stored for every mirrored chat, and prove coverage only for chats that follow it.

Invariants: page-and-progress-together, live-never-closes-a-gap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import structlog

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.accounts.queries import accounts
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import NO_TOPIC
from tidegate.core.account import Account
from tidegate.core.ids import ChannelId, ChannelKey, MessageId
from tidegate.database.pool import Connection, Database
from tidegate.events.kinds.channels import ChannelRead
from tidegate.events.queries import feed
from tidegate.history.box_sequence import BoxPage, follow_updates
from tidegate.history.deletion_check import Recalled, recall
from tidegate.history.ingest import IngestTally, take_in
from tidegate.history.queries import account_boxes, coverage, live_progress, messages
from tidegate.history.rules.coverage import Content
from tidegate.history.rules.page_proof import unbroken
from tidegate.lanes import Lane
from tidegate.people.queries import people
from tidegate.platforms.interface import BoxDifference, BoxState, BoxTooLong, BoxUpdates, ChannelUpdates, Message
from tidegate.scans.queries import scan_memory
from tidegate.scans.queries.scan_memory import ScanPlace
from tidegate.scans.scan_context import ScanContext

log = structlog.get_logger()

_NOTHING = ChannelUpdates(None)


# Differences


@dataclass(frozen=True, slots=True)
class FollowedBox:
    """How far a box is followed; *lost_track* when the platform did not list all changes, so chats have to be read.

    *as_pushed*: the platform was not asked, because push updates led up to what is stored.
    """

    state: BoxState
    lost_track: bool = False
    as_pushed: bool = False


async def follow_box(context: ScanContext, tally: IngestTally, *, ask: bool = False) -> FollowedBox | None:
    """Bring the private chats that follow the box up to date; returns how far, None where the account has no chat.

    It takes no call where push updates lead up to what is stored, unless it is to *ask* for updates that were lost.
    Where no chat follows the box yet, older changes matter to none: it is followed from now on.
    """
    account = context.lane.account.id
    async with context.database.connection() as connection:
        state = await account_boxes.load(connection, account)
        places = await scan_memory.load_private_chats(connection, account)
    if not places:
        return None
    if state is None or all(place.memory.changes is None for place in places):
        state = await context.lane.box_state(cycle=context.cycle)
        async with owned_transaction(context.database, context.lane.claim()) as connection:
            await account_boxes.begin(connection, account, state)
        return FollowedBox(state)
    if context.lane.known_box() == state.changes and not ask:
        return FollowedBox(state, as_pushed=True)
    lost_track = False
    for _ in range(context.limits.pages_a_turn):
        answer = await context.lane.box_difference(state, cycle=context.cycle)
        if isinstance(answer, BoxTooLong):
            state, lost_track = await _lose_track(context, answer.state), True
            continue
        state = await _keep_difference(context, answer, tally)
        if answer.final:
            break
    return FollowedBox(state, lost_track)


async def _lose_track(context: ScanContext, state: BoxState) -> BoxState:
    """The platform does not list what changed: every chat is read again, and its stored messages are compared."""
    account = context.lane.account.id
    async with owned_transaction(context.database, context.lane.claim()) as connection:
        places = await scan_memory.load_private_chats(connection, account)
        await channels.drop_counter(connection, [place.key for place in places])
        await account_boxes.begin(connection, account, state)
    log.info("box.too_long", account=context.lane.account.name, chats=len(places))
    return state


async def _keep_difference(context: ScanContext, answer: BoxDifference, tally: IngestTally) -> BoxState:
    """Store an answer with the counter it leads to. Messages that it should mention and does not are asked for first.

    Such a message came as a push update after a gap, and may have been deleted before the difference was answered.
    """
    found = answer.updates
    recalled: dict[ChannelId, Recalled] = {}
    while True:
        async with owned_transaction(context.database, context.lane.claim()) as connection:
            account = context.lane.account
            state = await account_boxes.load(connection, account.id, lock=True)
            places = await scan_memory.load_private_chats(connection, account.id)
            for place in places:
                await messages.hold(connection, place.key)
            missing = await _unmentioned(connection, places, found, recalled) if answer.final else {}
            if not missing:
                linked = {chat: updates.posted for chat, updates in found.chats.items()}
                deleted = [*found.deleted, *_gone(recalled)]
                page = BoxPage(_with_recalled(found.chats, recalled), linked, deleted, found.previewed)
                await store_page(connection, account, places, page, tally)
                await account_boxes.move(connection, account.id, answer.state)
                return answer.state if state is None or state.changes <= answer.state.changes else state
        for chat, numbers in missing.items():
            known = recalled.get(chat, Recalled())
            recalled[chat] = known | await recall(context.lane, chat, numbers, cycle=context.cycle)


async def _unmentioned(
    connection: Connection, places: Sequence[ScanPlace], found: BoxUpdates, recalled: Mapping[ChannelId, Recalled]
) -> dict[ChannelId, set[MessageId]]:
    unproven = await account_boxes.unproven(connection, [place.key for place in places])
    missing: dict[ChannelId, set[MessageId]] = {}
    for place in places:
        told = {message.id for message in found.chats.get(place.channel, _NOTHING).posted} | set(found.deleted)
        asked = recalled[place.channel].asked if place.channel in recalled else frozenset()
        if left := unproven.get(place.key, set()) - told - asked:
            missing[place.channel] = left
    return missing


def _with_recalled(
    chats: Mapping[ChannelId, ChannelUpdates], recalled: Mapping[ChannelId, Recalled]
) -> dict[ChannelId, ChannelUpdates]:
    joined = dict(chats)
    for chat, answer in recalled.items():
        known = joined.get(chat, _NOTHING)
        joined[chat] = replace(known, edited=[*known.edited, *answer.found])
    return joined


def _gone(recalled: Mapping[ChannelId, Recalled]) -> list[MessageId]:
    return sorted(number for answer in recalled.values() for number in answer.gone)


# Push updates


@dataclass(slots=True)
class StoredBoxUpdates:
    """The result of storing push updates of a box; *is_gap* when updates before them are missing."""

    chats: Sequence[ChannelId]
    is_gap: bool = False
    tally: IngestTally = field(default_factory=IngestTally)


async def store_box_updates(lane: Lane, database: Database, updates: Sequence[BoxUpdates]) -> StoredBoxUpdates | None:
    """Store push updates of an account's box in one transaction; None where it mirrors no private chat."""
    async with database.transaction() as connection:
        claim = lane.claim()
        await accounts.fence(connection, claim)
        state = await account_boxes.load(connection, claim.account, lock=True)
        places = await scan_memory.load_private_chats(connection, claim.account)
        if state is None or not places:
            return None
        followed = follow_updates(state.changes, updates)
        stored = StoredBoxUpdates([place.channel for place in places], is_gap=followed.is_gap)
        page = followed.page
        await store_page(connection, lane.account, places, page, stored.tally, live=True, is_gap=followed.is_gap)
        await account_boxes.move(connection, claim.account, replace(state, changes=followed.known))
        return stored


# Storage


async def store_page(
    connection: Connection,
    account: Account,
    places: Sequence[ScanPlace],
    page: BoxPage,
    tally: IngestTally,
    *,
    live: bool = False,
    is_gap: bool = False,
) -> None:
    """Store changes of a box in its chats. A deletion names no chat, so it is looked for in all of them.

    Numbers of messages are the account's own, so at most one chat has each.
    """
    keys = [place.key for place in places]
    known = await account_boxes.known_in(connection, keys, page.deleted) if page.deleted else {}
    for place in places:
        updates = page.updates_of(place.channel)
        if not is_gap and _knows_its_messages(place):
            own = known.get(place.key, set()) | {one.id for one in (*updates.posted, *updates.edited)}
            updates = replace(updates, deleted=[number for number in updates.deleted if number in own])
        if updates.brings_nothing:
            continue
        taken = IngestTally()
        await take_in(connection, place, await _named(connection, place.key, updates), account.id, taken)
        if place.memory.changes is not None:
            await _prove(connection, place.key, place.memory.newest_seen, page.linked.get(place.channel, ()))
        if taken.messages:
            read = ChannelRead(
                channel=place.channel,
                topic=None,
                messages=taken.messages,
                archives=0,
                live=live,
                channel_key=place.key,
            )
            await feed.record(connection, place.title, read)
        tally.add(taken)


def _knows_its_messages(place: ScanPlace) -> bool:
    """Whether a chat has every message up to the counter; any other may yet get one that was deleted before."""
    return place.memory.changes is not None and not place.lacks_history


async def _prove(connection: Connection, key: ChannelKey, newest_seen: int, posted: Sequence[Message]) -> None:
    """Every message of the chat up to the newest of *posted* has been stored."""
    newest = max((message.id for message in posted), default=MessageId(0))
    span = unbroken(newest_seen, newest)
    if span is not None:
        await coverage.add(connection, key, dict.fromkeys(Content, span))
        await live_progress.move_topic(connection, key, NO_TOPIC, newest)


async def _named(connection: Connection, key: ChannelKey, updates: ChannelUpdates) -> ChannelUpdates:
    """The updates with the names of authors that the platform left out; short forms of updates name nobody."""
    unnamed = {one.author_id for one in updates.posted if not one.author and one.author_id is not None}
    if not unnamed:
        return updates
    names = await people.names_of(connection, key, unnamed)
    posted = [
        one if one.author or one.author_id is None else replace(one, author=names.get(one.author_id, ""))
        for one in updates.posted
    ]
    return replace(updates, posted=posted)
