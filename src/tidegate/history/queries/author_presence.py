"""Whether a person wrote in any of some channels."""

from __future__ import annotations

from collections.abc import Collection

from tidegate.core.ids import ChannelKey, UserId
from tidegate.core.platform import Platform
from tidegate.database.pool import Connection

# One look into the index of authors per channel, however many messages the channels or the person have. Without LIMIT
# the planner may collect all messages of both instead.
_WROTE = """
    SELECT EXISTS (
        SELECT FROM channels c CROSS JOIN LATERAL (
            SELECT FROM messages m WHERE m.channel = c.id AND m.author_id = $3 LIMIT 1
        ) AS found
        WHERE c.id {which}($1) AND c.platform = $2
    )
"""


async def wrote_in(
    connection: Connection, platform: Platform, person: UserId, channels: Collection[ChannelKey]
) -> bool:
    """Whether a message of *person* is stored in one of *channels*; people are numbered by each platform apart."""
    wrote: bool = await connection.fetchval(_WROTE.format(which="= ANY"), list(channels), platform, person)
    return wrote


async def wrote_outside(
    connection: Connection, platform: Platform, person: UserId, hidden: Collection[ChannelKey]
) -> bool:
    """Whether a message of *person* is stored in a channel of their platform that is not *hidden*."""
    wrote: bool = await connection.fetchval(_WROTE.format(which="<> ALL"), list(hidden), platform, person)
    return wrote
