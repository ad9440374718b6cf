"""The groups that an account may write to, for a person to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.store.database import Connection

_NOT_CHOSEN = ("board", "thread", "voice", "private chat")
"""Kinds of channels that are written to only when somebody names them."""


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
        account, _NOT_CHOSEN, most,
    )  # fmt: skip
    return [
        Choice(row["title"], row["title"] if row["same"] == 1 else str(row["number"]), row["may_post"]) for row in rows
    ]
