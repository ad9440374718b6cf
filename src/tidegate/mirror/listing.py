"""Listing what an account can see: its channels, and the topics of the forums that are mirrored."""

from __future__ import annotations

import itertools

from tidegate.lanes import Lane
from tidegate.port import Channel, Cursor, Topic
from tidegate.store import accounts, channels, places
from tidegate.store.channels import Kept
from tidegate.store.database import Database
from tidegate.store.places import Place


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

    The list moves while it is read, so a topic that comes twice is taken once. After *most* calls it is let be: the
    topics left over are known when somebody writes in them.
    """
    seen: dict[int, Topic] = {}
    cursor: Cursor | None = None
    for _ in itertools.count() if most is None else range(most):
        page = await lane.topics(forum.number, cursor, cycle=cycle)
        seen |= {topic.id: topic for topic in page.topics}
        async with database.transaction() as connection:
            await accounts.fence(connection, lane.claim())
            await places.name_topics(connection, forum.key, page.topics)
        if page.next is None:
            break
        cursor = page.next
    return sum(not topic.gone for topic in seen.values())
