"""What the names in a search stand for: topics by their titles, and people who had another name before."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tidegate.core.errors import BadInput
from tidegate.core.ids import ChannelKey, UserId
from tidegate.database.pool import Connection
from tidegate.search.rules.query_language import Query
from tidegate.search.rules.tokenizer import author_asked, author_tags, folded_title

_PEOPLE = 100
"""Of how many people one name may be. Of more, only messages with the name itself are found."""


async def resolved(
    connection: Connection, query: Query, channels: Collection[ChannelKey] | None, hidden: Collection[ChannelKey]
) -> Query:
    """The query with what its names stand for in the channels that are looked in; an unknown topic is refused."""
    if query.topic is not None:
        query = replace(query, titles=await _titles(connection, query.topic, channels, hidden))
    if query.author is not None:
        query = replace(query, authors=await _renamed(connection, query.author))
    return query


async def _titles(
    connection: Connection, typed: str, channels: Collection[ChannelKey] | None, hidden: Collection[ChannelKey]
) -> tuple[str, ...]:
    """The titles of topics, as stored, that the typed one means. It may also be a number; then there are none.

    They are compared here and not by the database, whose notion of upper case depends on its setup.
    """
    rows = await connection.fetch(
        """
        SELECT DISTINCT title, topic::text = $3 AS is_numbered FROM places
        WHERE topic > 0 AND ($1::bigint[] IS NULL OR channel = ANY($1)) AND channel <> ALL($2)
        """,
        None if channels is None else list(channels), list(hidden), typed,
    )  # fmt: skip
    wanted = folded_title(typed)
    titles = {row["title"] for row in rows if row["title"] and folded_title(row["title"]) == wanted}
    if not titles and not any(row["is_numbered"] for row in rows):
        raise BadInput(
            f'There is no topic "{typed}" in the channels that are searched; write its whole title or its number.'
        )
    return tuple(sorted(titles))


async def _renamed(connection: Connection, typed: str) -> tuple[UserId, ...]:
    """People who had more than one name, one of them as typed: all of their messages are meant."""
    asked = author_asked(typed)
    rows = await connection.fetch(
        """
        SELECT n.person, n.name FROM person_names n
        JOIN (SELECT platform, person FROM person_names GROUP BY platform, person HAVING min(name) < max(name)) AS r
            ON (r.platform, r.person) = (n.platform, n.person)
        ORDER BY n.last_seen DESC
        """
    )
    found = dict.fromkeys(
        row["person"] for row in rows if any(tag.startswith(asked) for tag in author_tags(row["name"], None))
    )
    return tuple(UserId(one) for one in found)[:_PEOPLE] if asked else ()
