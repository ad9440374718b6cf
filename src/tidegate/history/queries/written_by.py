"""Whether somebody wrote in some channels, by what their messages are found by in a search."""

from __future__ import annotations

from collections.abc import Collection

from tidegate.core.ids import ChannelKey, UserId
from tidegate.core.platform import Platform
from tidegate.database.pool import Connection
from tidegate.search.queries.search import planned_anew
from tidegate.search.rules.text_words import author_tags, quoted


async def wrote_outside(
    connection: Connection, platform: Platform, person: UserId, hidden: Collection[ChannelKey]
) -> bool:
    """Whether a message of *person* is stored in a channel of their platform that is not *hidden*."""
    [tag] = author_tags("", person)
    async with planned_anew(connection):
        wrote: bool = await connection.fetchval(
            """
            SELECT EXISTS (
                SELECT FROM messages m JOIN channels c ON c.id = m.channel
                WHERE m.author_id = $1 AND m.words @@ $2::text::tsquery AND m.channel <> ALL($3) AND c.platform = $4
            )
            """,
            person, quoted(tag), list(hidden), platform,
        )  # fmt: skip
    return wrote


async def wrote_in(
    connection: Connection, platform: Platform, person: UserId, channels: Collection[ChannelKey]
) -> bool:
    """Whether a message of *person* is stored in one of *channels*; people are numbered by each platform apart.

    Either the messages of the channels are walked or those of the person, whichever are fewer.
    """
    [tag] = author_tags("", person)
    keys = await connection.fetchval(
        "SELECT coalesce(array_agg(id), '{}') FROM channels WHERE id = ANY($1) AND platform = $2",
        list(channels), platform,
    )  # fmt: skip
    async with planned_anew(connection):
        wrote: bool = await connection.fetchval(
            """
            SELECT EXISTS (
                SELECT FROM messages WHERE channel = ANY($1) AND author_id = $2 AND words @@ $3::text::tsquery
            )
            """,
            keys, person, quoted(tag),
        )  # fmt: skip
    return wrote
