"""Groups for a person to choose from: those that an account may write to, and those to put on a saved list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.channels.queries.channel_places import PLACED, PLACES
from tidegate.core.ids import ChannelId, ChannelKey, TargetListId
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row
from tidegate.reminders.queries.targets import NOT_WRITTEN_TO


@dataclass(frozen=True, slots=True)
class GroupChoice:
    """A group by its title. *name* is what a reminder calls it: its number where several have that title."""

    title: str
    name: str
    may_post: bool
    server: str = ""
    parent_title: str = ""


async def choices(connection: Connection, account: str, most: int) -> Sequence[GroupChoice]:
    """Groups that the account of that name sees, as people order titles: "Stall 2" before "Stall 10"."""
    rows = await connection.fetch(
        f"""
        SELECT c.title, coalesce(s.may_post, false) AS may_post, {PLACED},
            CASE WHEN count(*) OVER (PARTITION BY c.title) = 1 THEN c.title ELSE c.number::text END AS name
        FROM accounts a JOIN sights s ON s.account = a.id JOIN channels c ON c.id = s.channel {PLACES}
        WHERE a.name = $1 AND c.state <> 'deleted' AND c.kind <> ALL($2) AND c.private_to IS NULL
        ORDER BY natural_order(c.sought), c.id
        LIMIT $3
        """,
        account, NOT_WRITTEN_TO, most,
    )  # fmt: skip
    return [from_row(GroupChoice, row) for row in rows]


@dataclass(frozen=True, slots=True)
class GroupFilter:
    """Which groups are shown beside a saved list.

    A group can be put on a list when one of the accounts may write to it.
    """

    saved_list: TargetListId
    on_it: bool  # those on the list, or those that could be put on it
    text: str = ""  # a part of their title
    account: str = ""  # the name of the only account that counts; all of them where it is empty


@dataclass(frozen=True, slots=True)
class SoughtGroup:
    """A group by our key of it."""

    channel: ChannelKey
    title: str
    platform: str
    number: ChannelId
    state: str
    server: str
    parent_title: str


_SOUGHT = f"""
    FROM channels c {PLACES}
    WHERE strpos(c.sought, lower($3)) > 0
      AND EXISTS (SELECT FROM target_list_members m WHERE m.list = $1 AND m.channel = c.id) = $2
      AND (($2 AND $4 = '') OR EXISTS (
          SELECT FROM sights s JOIN accounts a ON a.id = s.account
          WHERE s.channel = c.id AND ($4 = '' OR a.name = $4) AND ($2 OR s.may_post)
      ))
      AND ($2 OR (c.state <> 'deleted' AND c.kind <> ALL($5)))
"""


async def sought(connection: Connection, wanted: GroupFilter, *, most: int) -> tuple[list[SoughtGroup], int]:
    """The first matching groups by title, and how many there are."""
    rows = await connection.fetch(
        f"""
        SELECT c.id AS channel, c.title, c.platform, c.number, c.state, {PLACED} {_SOUGHT}
        ORDER BY natural_order(c.sought), c.id LIMIT $6
        """,
        *_values(wanted), most,
    )  # fmt: skip
    count: int = await connection.fetchval(f"SELECT count(*) {_SOUGHT}", *_values(wanted))
    return [SoughtGroup(**row) for row in rows], count


async def all_sought(connection: Connection, wanted: GroupFilter) -> list[ChannelKey]:
    """Our keys of all matching groups."""
    return [ChannelKey(row["id"]) for row in await connection.fetch(f"SELECT c.id {_SOUGHT}", *_values(wanted))]


def _values(wanted: GroupFilter) -> tuple[object, ...]:
    return wanted.saved_list, wanted.on_it, wanted.text.strip(), wanted.account, NOT_WRITTEN_TO
