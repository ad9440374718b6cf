"""Groups for a person to choose from: those that an account may write to, and those to put on a saved list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.core.ids import ChannelId, ChannelKey, TargetListId
from tidegate.core.rules.natural_order import natural_key
from tidegate.database.pool import Connection
from tidegate.reminders.queries.targets import NOT_WRITTEN_TO


@dataclass(frozen=True, slots=True)
class GroupChoice:
    """A group by its title. *name* is what a reminder calls it: its number where several have that title."""

    title: str
    name: str
    may_post: bool


async def choices(connection: Connection, account: str, most: int) -> Sequence[GroupChoice]:
    """Groups that the account of that name sees, as people order titles: "Stall 2" before "Stall 10"."""
    rows = await connection.fetch(
        """
        SELECT c.title, c.number, coalesce(s.may_post, false) AS may_post, count(*) OVER (PARTITION BY c.title) AS same
        FROM accounts a JOIN sights s ON s.account = a.id JOIN channels c ON c.id = s.channel
        WHERE a.name = $1 AND c.state <> 'deleted' AND c.kind <> ALL($2) AND c.private_to IS NULL
        ORDER BY c.title, c.id
        LIMIT $3
        """,
        account, NOT_WRITTEN_TO, most,
    )  # fmt: skip
    found = [
        GroupChoice(row["title"], row["title"] if row["same"] == 1 else str(row["number"]), row["may_post"])
        for row in rows
    ]
    return sorted(found, key=lambda one: natural_key(one.title))


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


_SOUGHT = """
    FROM channels c
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
        SELECT c.id AS channel, c.title, c.platform, c.number, c.state {_SOUGHT}
        ORDER BY natural_order(c.sought), c.id LIMIT $6
        """,
        *_values(wanted), most,
    )  # fmt: skip
    count: int = await connection.fetchval(f"SELECT count(*) {_SOUGHT}", *_values(wanted))
    found = [SoughtGroup(**dict(row)) for row in rows]
    return sorted(found, key=lambda one: natural_key(one.title)), count


async def all_sought(connection: Connection, wanted: GroupFilter) -> list[ChannelKey]:
    """Our keys of all matching groups."""
    return [ChannelKey(row["id"]) for row in await connection.fetch(f"SELECT c.id {_SOUGHT}", *_values(wanted))]


def _values(wanted: GroupFilter) -> tuple[object, ...]:
    return wanted.saved_list, wanted.on_it, wanted.text.strip(), wanted.account, NOT_WRITTEN_TO
