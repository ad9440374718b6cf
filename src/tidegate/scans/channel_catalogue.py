"""The catalogue of what an account can see: its channels, and the topics of the forums that are mirrored."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import structlog

from tidegate.accounts.owned_transaction import owned_transaction
from tidegate.channels.queries import channels
from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.errors import ENDS_CYCLE, PlatformError
from tidegate.core.ids import CycleNumber, TopicId
from tidegate.core.platform_call import IDS_A_CALL
from tidegate.database.pool import Database
from tidegate.lanes import Lane
from tidegate.media import avatars
from tidegate.platforms.interface import Channel, Cursor, Topic
from tidegate.scans.queries import scan_memory, topic_titles
from tidegate.scans.queries.scan_memory import ScanPlace

log = structlog.get_logger()


async def sync_channels(lane: Lane, database: Database) -> int:
    """List every channel the account sees, and the topics of those forums it reads; returns how many channels.

    It enables nothing. A channel that is missing from the list does not count as lost: only a refusal to read it proves
    that.
    """
    cursor: Cursor | None = None
    while True:
        page = await lane.channels(cursor)
        listed = [head.channel for head in page.heads.values() if head.channel is not None]
        await _keep(lane, database, listed)
        if page.next is None:
            break
        cursor = page.next
    async with database.connection() as connection:
        kept = await channels.listing(connection, lane.account.id)
    for one in kept:
        if one.forum and one.enabled and one.reader == lane.account.id:
            await sync_topics(lane, database, one)
    return len(kept)


async def _keep(lane: Lane, database: Database, listed: list[Channel]) -> None:
    async with owned_transaction(database, lane.claim()) as connection:
        await channels.see(connection, lane.account.platform, lane.account.id, listed)
        await avatars.note_channels(connection, lane.account.platform, listed)


async def sync_topics(
    lane: Lane,
    database: Database,
    forum: KnownChannel | ScanPlace,
    *,
    cycle: CycleNumber | None = None,
    most: int | None = None,
) -> int:
    """List every topic of a forum, page by page to the empty one; returns how many there are.

    The list changes while it is read, so a topic that comes twice is stored once. A known topic that is not in it is
    requested by its number: only the platform's answer says that it is gone. After *most* calls the listing ends: the
    other topics become known when a message is posted in them.
    """
    seen: dict[TopicId, Topic] = {}
    cursor: Cursor | None = None
    followed: set[Cursor] = set()
    for _ in itertools.count() if most is None else range(most):
        page = await lane.topics(forum.number, cursor, cycle=cycle)
        seen |= {topic.id: topic for topic in page.topics}
        async with owned_transaction(database, lane.claim()) as connection:
            await topic_titles.name_topics(connection, forum.key, page.topics)
        if page.next is None or page.next in followed:  # a list that repeats itself has no further topics
            break
        cursor = page.next
        followed.add(cursor)
    else:
        return sum(not topic.gone for topic in seen.values())
    left = None if most is None else most - len(followed) - 1
    missing = (await _missing(database, forum, seen))[: None if left is None else left * IDS_A_CALL]
    await _ask_for(lane, database, forum, missing, cycle)
    async with owned_transaction(database, lane.claim()) as connection:
        await channels.note_topics_listed(connection, forum.key)
    return sum(not topic.gone for topic in seen.values())


async def _missing(database: Database, forum: KnownChannel | ScanPlace, seen: Mapping[TopicId, Topic]) -> list[TopicId]:
    """Known topics that a list left out."""
    async with database.connection() as connection:
        known = await scan_memory.shown(connection, forum.key)
    missing = [TopicId(row["topic"]) for row in known if row["topic"] > 1 and row["gone_at"] is None]
    return [number for number in missing if number not in seen]


async def _ask_for(
    lane: Lane,
    database: Database,
    forum: KnownChannel | ScanPlace,
    missing: Sequence[TopicId],
    cycle: CycleNumber | None,
) -> None:
    for start in range(0, len(missing), IDS_A_CALL):
        topics = await lane.topics_by_id(forum.number, missing[start : start + IDS_A_CALL], cycle=cycle)
        async with owned_transaction(database, lane.claim()) as connection:
            await topic_titles.name_topics(connection, forum.key, topics.values())


async def list_topics_daily(lane: Lane, database: Database) -> int:
    """List the topics of forums whose list is a day old; returns how many forums. One that fails is tried again."""
    async with database.connection() as connection:
        due = await channels.forums_to_list(connection, lane.account.id)
    listed = 0
    for forum in due:
        try:
            await sync_topics(lane, database, forum)
            listed += 1
        except ENDS_CYCLE:
            raise
        except PlatformError as problem:
            log.warning("topics.not_listed", channel=forum.number, title=forum.title, problem=str(problem))
    return listed
