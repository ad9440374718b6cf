"""Where a channel is, for the heading of its page: the channel that a thread belongs to."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.channels.queries.channels import KnownChannel
from tidegate.core.ids import ChannelKey
from tidegate.database.pool import Connection


@dataclass(frozen=True, slots=True)
class ParentChannel:
    """The channel above a thread."""

    key: ChannelKey
    title: str


async def parent_of(connection: Connection, kept: KnownChannel) -> ParentChannel | None:
    """The channel that a thread belongs to; None for a channel, or where it is not known here."""
    if kept.parent is None:
        return None
    row = await connection.fetchrow(
        "SELECT id, title FROM channels WHERE platform = $1 AND number = $2", kept.platform, kept.parent
    )
    return None if row is None else ParentChannel(ChannelKey(row["id"]), row["title"])
