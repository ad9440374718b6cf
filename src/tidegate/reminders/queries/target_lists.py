"""Saved lists of groups: stored under a name, changed, and removed when no reminder uses them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import asyncpg

from tidegate.core.errors import BadInput, NotNow, NotThere
from tidegate.core.ids import ChannelId, ChannelKey, TargetListId
from tidegate.database.pool import Connection
from tidegate.events.kinds.reminders import ListAdded, ListChanged, ListRemoved, ListRenamed
from tidegate.events.queries import feed
from tidegate.reminders.queries.name_lookup import find_row

LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class SavedList:
    """A saved list of groups."""

    id: TargetListId
    name: str
    size: int  # how many groups are on it
    reminders: Sequence[str]  # the names of those that go to it


@dataclass(frozen=True, slots=True)
class ListMember:
    """A group on a list."""

    title: str
    platform: str
    number: ChannelId
    state: str


_LIST = """
    SELECT l.id, l.name, (SELECT count(*) FROM target_list_members m WHERE m.list = l.id) AS size,
        ARRAY(SELECT r.name FROM reminders r WHERE r.list = l.id
            ORDER BY natural_order(lower(r.name)) COLLATE "C", r.id) AS reminders
    FROM target_lists l
"""


async def listing(connection: Connection, *, after: str = "", most: int | None = None) -> list[SavedList]:
    """The lists by name, those *after* one."""
    rows = await connection.fetch(f"{_LIST} WHERE l.name > $1 ORDER BY l.name LIMIT $2", after, most)
    return [SavedList(**dict(row)) for row in rows]


async def find(connection: Connection, name: str | int, *, lock: bool = False) -> SavedList:
    """The list of that name or number; ``NotThere`` when there is none.

    *lock* prevents others from changing the list, and from storing reminders that go to it.
    """
    row = await find_row(connection, _LIST, "l", name, lock=lock)
    if row is None:
        raise NotThere(f'list "{name}"', "See them with: tidegate reminder targets")
    return SavedList(**dict(row))


async def members(
    connection: Connection, number: TargetListId, *, skip: int = 0, most: int | None = None
) -> list[ListMember]:
    """The groups on a list in natural order: all, or *most* after the first *skip*."""
    rows = await connection.fetch(
        """
        SELECT c.title, c.platform, c.number, c.state
        FROM target_list_members m JOIN channels c ON c.id = m.channel
        WHERE m.list = $1
        ORDER BY natural_order(c.sought), c.id
        LIMIT $2 OFFSET $3
        """,
        number, most, skip,
    )  # fmt: skip
    return [ListMember(**dict(row)) for row in rows]


# Changes, each inside a transaction


async def add(connection: Connection, name: str) -> TargetListId:
    """Make an empty list; ``BadInput`` for a name that is invalid or taken."""
    name = _fit(name)
    try:
        number: TargetListId = await connection.fetchval(
            "INSERT INTO target_lists (name) VALUES ($1) RETURNING id", name
        )
    except asyncpg.UniqueViolationError:
        raise _taken(name) from None
    await feed.record(connection, name, ListAdded())
    return number


async def rename(connection: Connection, saved: SavedList, name: str) -> None:
    """Give a list another name, also where reminders are written that go to it."""
    name = _fit(name)
    if name == saved.name:
        return
    try:
        await connection.execute("UPDATE target_lists SET name = $2 WHERE id = $1", saved.id, name)
    except asyncpg.UniqueViolationError:
        raise _taken(name) from None
    await connection.execute(
        "UPDATE reminders SET written = jsonb_set(written, '{list}', to_jsonb($2::text)) WHERE list = $1",
        saved.id,
        name,
    )
    await feed.record(connection, name, ListRenamed(before=saved.name))


async def put(connection: Connection, number: TargetListId, channels: Collection[ChannelKey]) -> None:
    """Put groups on a list, by our numbers of them; those already on it, and unknown ones, change nothing."""
    await connection.execute(
        """
        INSERT INTO target_list_members (list, channel) SELECT $1, id FROM channels WHERE id = ANY($2)
        ON CONFLICT DO NOTHING
        """,
        number, list(channels),
    )  # fmt: skip
    await _tell_of(connection, number)


async def take(connection: Connection, number: TargetListId, channels: Collection[ChannelKey]) -> None:
    """Take groups off a list."""
    await connection.execute(
        "DELETE FROM target_list_members WHERE list = $1 AND channel = ANY($2)", number, list(channels)
    )
    await _tell_of(connection, number)


async def replace(connection: Connection, number: TargetListId, channels: Collection[ChannelKey]) -> None:
    """Replace the groups on a list by these."""
    await connection.execute(
        "DELETE FROM target_list_members WHERE list = $1 AND channel <> ALL($2)", number, list(channels)
    )
    await put(connection, number, channels)


async def save(connection: Connection, name: str, channels: Collection[ChannelKey]) -> None:
    """Store groups under a name; an existing list of that name is replaced."""
    known: TargetListId | None = await connection.fetchval(
        "SELECT id FROM target_lists WHERE name = $1 FOR UPDATE", name
    )
    await replace(connection, await add(connection, name) if known is None else known, channels)


async def remove(connection: Connection, saved: SavedList) -> None:
    """Delete a list that was found and locked, unless a reminder goes to it."""
    if saved.reminders:
        named = ", ".join(f'"{name}"' for name in saved.reminders[:6]) + (" and others" * (len(saved.reminders) > 6))
        raise NotNow(f'Reminders go to the list "{saved.name}": {named}. Change or remove them first.')
    await connection.execute("DELETE FROM target_lists WHERE id = $1", saved.id)
    await feed.record(connection, saved.name, ListRemoved())


async def _tell_of(connection: Connection, number: TargetListId) -> None:
    saved = await find(connection, number)
    await feed.record(connection, saved.name, ListChanged(groups=saved.size))


def _fit(name: str) -> str:
    """The name as it is stored."""
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise BadInput(f"A list needs a name of 1 to {LONGEST_NAME} characters that can be printed.")
    return name


def _taken(name: str) -> BadInput:
    return BadInput(f'There is a list "{name}" already; choose another name, or change that one.')
