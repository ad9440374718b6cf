"""How much of a channel has partial fields, for its pages: those messages are read again in the background."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tidegate.core.ids import ChannelKey
from tidegate.database.pool import Connection

COUNTED = 10_000
"""Up to how many messages are counted for a page; more than that are "more than" so many."""


@dataclass(frozen=True, slots=True)
class PartialShare:
    """How many messages of a channel still have partial fields, and how many are stored, each up to ``COUNTED``.

    Deleted ones are stored as well, but not read again.
    """

    partial: int
    stored: int

    @property
    def words(self) -> str:
        """A sentence for people; empty where every message is complete."""
        if not self.partial:
            return ""
        are = "is" if self.partial == 1 else "are"
        if self.partial > COUNTED:
            return f"{_counted(self.partial).capitalize()} messages are still to be completed"
        return f"{_counted(self.partial)} of {_counted(self.stored)} messages {are} still to be completed"


def _counted(number: int) -> str:
    return f"{number:,}" if number <= COUNTED else f"more than {COUNTED:,}"


async def share_of(connection: Connection, key: ChannelKey) -> PartialShare:
    """How much of a channel is still to be completed."""
    partial: int = await connection.fetchval(
        "SELECT count(*) FROM "
        "(SELECT FROM messages WHERE channel = $1 AND kind = '' AND deleted_at IS NULL LIMIT $2) AS partial",
        key, COUNTED + 1,
    )  # fmt: skip
    if not partial:
        return PartialShare(0, 0)
    stored: int = await connection.fetchval(
        "SELECT count(*) FROM (SELECT FROM messages WHERE channel = $1 LIMIT $2) AS stored",
        key, COUNTED + 1,
    )  # fmt: skip
    return PartialShare(partial, stored)


async def channels_with(connection: Connection, keys: Collection[ChannelKey]) -> frozenset[ChannelKey]:
    """Those of some channels that have a message to be completed."""
    rows = await connection.fetch(
        """
        SELECT key FROM unnest($1::bigint[]) AS key
        WHERE EXISTS (SELECT FROM messages m WHERE m.channel = key AND m.kind = '' AND m.deleted_at IS NULL)
        """,
        list(keys),
    )
    return frozenset(ChannelKey(row["key"]) for row in rows)
