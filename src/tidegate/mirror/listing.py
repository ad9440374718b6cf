"""Listing what an account can see: its channels, and the topics of the forums that are mirrored."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import structlog

from tidegate.errors import PlatformError
from tidegate.lanes import Lane
from tidegate.mirror.scan import FINAL, IDS_A_CALL
from tidegate.port import Channel, Cursor, Topic, TopicId
from tidegate.store import accounts, channels, places
from tidegate.store.channels import Kept
from tidegate.store.database import Database
from tidegate.store.places import Place

log = structlog.get_logger()


async def sync_channels(lane: Lane, database: Database) -> int:
    """List every channel the account sees, and the topics of those forums it reads; returns how many channels.

    Nothing is enabled by it, and a channel that is missing from the list is not taken for lost: only a refusal to
    read it proves that.
    """
    seen = 0
    cursor: Cursor | None = None
    while True:
        page = await lane.channels(cursor)
        told = [head.channel for head in page.heads.values() if head.channel is not None]
        await _keep(lane, database, told)
        seen += len(told)
        if page.next is None:
            break
        cursor = page.next
    async with database.connection() as connection:
        kept = await channels.listing(connection, lane.account.id)
    for one in kept:
        if one.forum and one.enabled and one.reader == lane.account.id:
            await sync_topics(lane, database, one)
    return seen


async def _keep(lane: Lane, database: Database, told: list[Channel]) -> None:
    async with database.transaction() as connection:
        await accounts.fence(connection, lane.claim())
        await channels.see(connection, lane.account.platform, lane.account.id, told)


async def sync_topics(
    lane: Lane, database: Database, forum: Kept | Place, *, cycle: int | None = None, most: int | None = None
) -> int:
    """List every topic of a forum, page by page to the empty one; returns how many there are.

    The list moves while it is read, so a topic that comes twice is taken once. One we know and that is not in it is
    asked for by its number: only the platform's own word says that it is gone. After *most* calls it is let be: the
    topics left over are known when somebody writes in them.
    """
    seen: dict[int, Topic] = {}
    cursor: Cursor | None = None
    followed: set[Cursor] = set()
    for _ in itertools.count() if most is None else range(most):
        page = await lane.topics(forum.number, cursor, cycle=cycle)
        seen |= {topic.id: topic for topic in page.topics}
        async with database.transaction() as connection:
            await accounts.fence(connection, lane.claim())
            await places.name_topics(connection, forum.key, page.topics)
        if page.next is None or page.next in followed:  # a list that goes round has shown all that it will
            break
        cursor = page.next
        followed.add(cursor)
    else:
        return sum(not topic.gone for topic in seen.values())
    left = None if most is None else most - len(followed) - 1
    missing = (await _missing(database, forum, seen))[: None if left is None else left * IDS_A_CALL]
    await _ask_for(lane, database, forum, missing, cycle)
    async with database.transaction() as connection:
        await accounts.fence(connection, lane.claim())
        await channels.note_topics_listed(connection, forum.key)
    return sum(not topic.gone for topic in seen.values())


async def _missing(database: Database, forum: Kept | Place, seen: Mapping[int, Topic]) -> list[TopicId]:
    """Topics we know that a list left out."""
    async with database.connection() as connection:
        known = await places.shown(connection, forum.key)
    missing = [TopicId(row["topic"]) for row in known if row["topic"] > 1 and row["gone_at"] is None]
    return [number for number in missing if number not in seen]


async def _ask_for(
    lane: Lane, database: Database, forum: Kept | Place, missing: Sequence[TopicId], cycle: int | None
) -> None:
    for start in range(0, len(missing), IDS_A_CALL):
        told = await lane.topics_by_id(forum.number, missing[start : start + IDS_A_CALL], cycle=cycle)
        async with database.transaction() as connection:
            await accounts.fence(connection, lane.claim())
            await places.name_topics(connection, forum.key, told.values())


async def list_topics_daily(lane: Lane, database: Database) -> int:
    """List the topics of forums whose list is a day old; returns how many forums. One that fails is tried again."""
    async with database.connection() as connection:
        due = await channels.forums_to_list(connection, lane.account.id)
    listed = 0
    for forum in due:
        try:
            await sync_topics(lane, database, forum)
            listed += 1
        except FINAL:
            raise
        except PlatformError as problem:
            log.warning("topics.not_listed", channel=forum.number, title=forum.title, problem=str(problem))
    return listed
