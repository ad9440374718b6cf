"""Groups for a person to choose from: those that an account may write to, and those to put on a saved list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.store.database import Connection
from tidegate.store.targets import NOT_WRITTEN_TO


@dataclass(frozen=True, slots=True)
class Choice:
    """A group by its title. *name* is what a reminder calls it: its number where several have that title."""

    title: str
    name: str
    may_post: bool


async def choices(connection: Connection, account: str, most: int) -> Sequence[Choice]:
    """Groups that the account of that name sees, by title."""
    rows = await connection.fetch(
        """
        SELECT c.title, c.number, coalesce(s.may_post, false) AS may_post, count(*) OVER (PARTITION BY c.title) AS same
        FROM accounts a JOIN sights s ON s.account = a.id JOIN channels c ON c.id = s.channel
        WHERE a.name = $1 AND c.state <> 'deleted' AND c.kind <> ALL($2)
        ORDER BY c.title, c.id
        LIMIT $3
        """,
        account, NOT_WRITTEN_TO, most,
    )  # fmt: skip
    return [
        Choice(row["title"], row["title"] if row["same"] == 1 else str(row["number"]), row["may_post"]) for row in rows
    ]


@dataclass(frozen=True, slots=True)
class Sought:
    """Groups with a *text* in their title that are on a saved list, or that could be put on it.

    They are those of one account, by name, or of all. Put on a list can be what one of them may write to.
    """

    saved_list: int
    on_it: bool
    text: str = ""
    account: str = ""


@dataclass(frozen=True, slots=True)
class SoughtGroup:
    """A group by our number of it."""

    channel: int
    title: str
    platform: str
    number: int
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


async def sought(connection: Connection, wanted: Sought, *, most: int) -> tuple[list[SoughtGroup], int]:
    """The first groups by title of those sought, and how many there are."""
    rows = await connection.fetch(
        f"""
        SELECT c.id AS channel, c.title, c.platform, c.number, c.state {_SOUGHT}
        ORDER BY c.sought, c.id LIMIT $6
        """,
        *_values(wanted), most,
    )  # fmt: skip
    count: int = await connection.fetchval(f"SELECT count(*) {_SOUGHT}", *_values(wanted))
    return [SoughtGroup(**dict(row)) for row in rows], count


async def all_sought(connection: Connection, wanted: Sought) -> list[int]:
    """Our numbers of all of them."""
    return [row["id"] for row in await connection.fetch(f"SELECT c.id {_SOUGHT}", *_values(wanted))]


def _values(wanted: Sought) -> tuple[object, ...]:
    return wanted.saved_list, wanted.on_it, wanted.text.strip(), wanted.account, NOT_WRITTEN_TO
