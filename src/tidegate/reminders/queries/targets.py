"""The groups that reminders go to: named one by one, by saved lists, or all that an account may post in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg

from tidegate.channels.queries.channel_places import PLACED, PLACES
from tidegate.core.errors import BadInput
from tidegate.core.ids import AccountId, ChannelId, ChannelKey, ReminderId
from tidegate.database.pool import Connection
from tidegate.platforms.interface.group_numbers import NamedGroups, as_number


@dataclass(frozen=True, slots=True)
class TargetGroup:
    """A group that a reminder goes to.

    *channel* is our key of it and *number* its id on the platform; both are None for a group that no longer exists.
    *may_post* is None when the account does not see it, *largest_file* when its limit in bytes is unknown.
    """

    title: str
    channel: ChannelKey | None
    number: ChannelId | None
    may_post: bool | None
    state: str
    largest_file: int | None
    server: str = ""
    parent_title: str = ""


NOT_WRITTEN_TO = ("board", "thread", "voice", "private chat")
"""Kinds of channels that "all" does not mean; one of them can still be named."""

_GROUP = f"c.title, c.id AS channel, c.number, s.may_post, c.state, c.largest_file, {PLACED}"


async def of_reminder(connection: Connection, reminder: ReminderId) -> list[TargetGroup]:
    """The groups a reminder goes to now, in the order they were named, else by title: "Stall 2" before "Stall 10"."""
    rows = await connection.fetch(
        f"""
        WITH meant AS (
            SELECT channel, named, number AS place FROM reminder_targets WHERE reminder = $1
            UNION ALL
            SELECT m.channel, NULL, NULL FROM reminders r JOIN target_list_members m ON m.list = r.list WHERE r.id = $1
            UNION ALL
            SELECT c.id, NULL, NULL
            FROM reminders r JOIN sights s ON s.account = r.account JOIN channels c ON c.id = s.channel
            WHERE r.id = $1 AND r.written @> '{{"all": true}}'
              AND s.may_post AND c.state <> 'deleted' AND c.kind <> ALL($2)
        )
        SELECT {_GROUP.replace("c.title,", "coalesce(c.title, meant.named) AS title,", 1)}, meant.place
        FROM meant JOIN reminders r ON r.id = $1
        LEFT JOIN channels c ON c.id = meant.channel
        LEFT JOIN sights s ON s.channel = c.id AND s.account = r.account {PLACES}
        ORDER BY place, natural_order(lower(coalesce(c.title, meant.named))) COLLATE "C", channel
        """,
        reminder, NOT_WRITTEN_TO,
    )  # fmt: skip
    return [_group(row) for row in rows]


async def named(connection: Connection, account: AccountId | None, names: Sequence[str]) -> dict[str, TargetGroup]:
    """The groups of these names or numbers that *account* sees, or any; a sentence where that is none or several."""
    seen_by, whose = ("", ()) if account is None else ("s.account = $3 AND", (account,))
    rows = await connection.fetch(
        f"""
        SELECT DISTINCT ON (c.id) {_GROUP}
        FROM sights s JOIN channels c ON c.id = s.channel {PLACES}
        WHERE {seen_by} (c.title = ANY($1) OR c.number::text = ANY($2)) AND (c.private_to IS NULL OR s.may_post)
        ORDER BY c.id
        """,
        list(names), [as_number(name) for name in names], *whose,
    )  # fmt: skip
    found = [_group(row) for row in rows]
    nobody = "No account sees a" if account is None else "The account sees no"
    known = NamedGroups((one.title, one.number, one) for one in found)
    return {name: _only(name, known.meant_by(name), nobody) for name in names}


def _only(name: str, candidates: Sequence[TargetGroup], nobody: str) -> TargetGroup:
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        numbers = ", ".join(str(one.number) for one in candidates)
        raise BadInput(f'Several groups are called "{name}"; give the number of one: {numbers}.')
    raise BadInput(f'{nobody} group "{name}". See them with: tidegate channel list; new ones: tidegate channel sync.')


def _group(row: asyncpg.Record) -> TargetGroup:
    number = row["number"]
    return TargetGroup(
        title=row["title"],
        channel=None if row["channel"] is None else ChannelKey(row["channel"]),
        number=None if number is None else ChannelId(number),
        may_post=row["may_post"],
        state=row["state"] or "unknown",
        largest_file=row["largest_file"],
        server=row["server"],
        parent_title=row["parent_title"],
    )
