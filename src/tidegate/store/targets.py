"""The groups that reminders go to: named one by one, by saved lists, or all that an account may post in."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import asyncpg

from tidegate.errors import BadInput
from tidegate.port import ChannelId
from tidegate.rules.numbering import group_number
from tidegate.store.database import Connection
from tidegate.words import AccountId, ReminderId


@dataclass(frozen=True, slots=True)
class Group:
    """A group as a reminder means it.

    *channel* is our number of it and *number* the platform's; both are None for one that nobody knows any more.
    *may_post* is None when the account does not see it.
    """

    title: str
    channel: int | None
    number: ChannelId | None
    may_post: bool | None
    state: str


@dataclass(frozen=True, slots=True)
class SavedList:
    """A saved list of groups."""

    name: str
    groups: Sequence[str]


_NOT_WRITTEN_TO = ("board", "thread", "voice", "private chat")
"""Kinds of channels that "all" does not mean; one of them can still be named."""

_GROUP = "c.title, c.id AS channel, c.number, s.may_post, c.state"


async def of_reminder(connection: Connection, reminder: ReminderId) -> list[Group]:
    """The groups a reminder goes to now, in the order they were named, else by title."""
    rows = await connection.fetch(
        f"""
        SELECT {_GROUP.replace("c.title", "coalesce(c.title, t.named) AS title")}, t.number AS place
        FROM reminder_targets t JOIN reminders r ON r.id = t.reminder
        LEFT JOIN channels c ON c.id = t.channel
        LEFT JOIN sights s ON s.channel = c.id AND s.account = r.account
        WHERE r.id = $1
        UNION ALL
        SELECT {_GROUP}, NULL
        FROM reminders r JOIN target_list_members m ON m.list = r.list
        JOIN channels c ON c.id = m.channel
        LEFT JOIN sights s ON s.channel = c.id AND s.account = r.account
        WHERE r.id = $1
        UNION ALL
        SELECT {_GROUP}, NULL
        FROM reminders r JOIN sights s ON s.account = r.account
        JOIN channels c ON c.id = s.channel
        WHERE r.id = $1 AND r.written @> '{{"all": true}}' AND s.may_post AND c.state <> 'deleted' AND c.kind <> ALL($2)
        ORDER BY place, title, channel
        """,
        reminder, _NOT_WRITTEN_TO,
    )  # fmt: skip
    return [_group(row) for row in rows]


async def named(connection: Connection, account: AccountId, names: Sequence[str]) -> dict[str, Group]:
    """The groups of these names or numbers that *account* sees; a sentence for a name that means none or several."""
    wanted = {name: _plain(name) for name in names}
    rows = await connection.fetch(
        f"""
        SELECT {_GROUP}
        FROM sights s JOIN channels c ON c.id = s.channel
        WHERE s.account = $1 AND (c.title = ANY($2) OR c.number::text = ANY($3))
        ORDER BY c.id
        """,
        account, list(wanted), list(wanted.values()),
    )  # fmt: skip
    found = [_group(row) for row in rows]
    return {name: _only(name, [one for one in found if name == one.title or plain == str(one.number)])
            for name, plain in wanted.items()}  # fmt: skip


def _plain(name: str) -> str:
    """A number as platforms and people write it, without what surrounds it; a WhatsApp address as its number."""
    return str(group_number(name)) if name.endswith("@g.us") else name.removeprefix("-100")


def _only(name: str, candidates: Sequence[Group]) -> Group:
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        numbers = ", ".join(str(one.number) for one in candidates)
        raise BadInput(f'Several groups are called "{name}"; give the number of one: {numbers}.')
    raise BadInput(
        f'The account sees no group "{name}". See them with: tidegate channel list; new ones: tidegate channel sync.'
    )


# Saved lists


async def save_list(connection: Connection, name: str, groups: Collection[Group]) -> None:
    """Keep a list under a name, in place of the one that had it; call inside a transaction."""
    number = await connection.fetchval(
        "INSERT INTO target_lists (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET name = $1 RETURNING id", name
    )
    await connection.execute("DELETE FROM target_list_members WHERE list = $1", number)
    await connection.execute(
        "INSERT INTO target_list_members (list, channel) SELECT $1, c FROM unnest($2::bigint[]) AS c",
        number, list({one.channel for one in groups}),
    )  # fmt: skip


async def lists(connection: Connection) -> list[SavedList]:
    """Every saved list with the titles of its groups."""
    rows = await connection.fetch(
        """
        SELECT l.name,
            coalesce(array_agg(c.title ORDER BY c.title, c.id) FILTER (WHERE c.id IS NOT NULL), '{}') AS groups
        FROM target_lists l
        LEFT JOIN target_list_members m ON m.list = l.id
        LEFT JOIN channels c ON c.id = m.channel
        GROUP BY l.id
        ORDER BY l.name
        """
    )
    return [SavedList(row["name"], row["groups"]) for row in rows]


async def find_list(connection: Connection, name: str) -> int:
    """Our number of a saved list, or a sentence."""
    number: int | None = await connection.fetchval("SELECT id FROM target_lists WHERE name = $1", name)
    if number is None:
        raise BadInput(f'There is no saved list "{name}". See them with: tidegate reminder targets')
    return number


async def remove_list(connection: Connection, name: str) -> None:
    """Forget a saved list, unless a reminder goes to it."""
    number = await find_list(connection, name)
    users = await connection.fetch("SELECT name FROM reminders WHERE list = $1 ORDER BY name LIMIT 6", number)
    if users:
        named_ = ", ".join(f'"{row["name"]}"' for row in users)
        raise BadInput(f'Reminders go to the list "{name}": {named_}. Change or remove them first.')
    await connection.execute("DELETE FROM target_lists WHERE id = $1", number)


def _group(row: asyncpg.Record) -> Group:
    number = row["number"]
    return Group(
        title=row["title"],
        channel=row["channel"],
        number=None if number is None else ChannelId(number),
        may_post=row["may_post"],
        state=row["state"] or "unknown",
    )
