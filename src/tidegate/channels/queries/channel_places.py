"""Where channels are: their server and, for a thread, the channel above it, quickly for many channels at once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tidegate.core.ids import ChannelId, ChannelKey
from tidegate.database.pool import Connection
from tidegate.database.row_values import from_row

PLACED = "coalesce(g.title, '') AS server, coalesce(p.title, '') AS parent_title"
"""The columns of a place, for a query that joins ``PLACES``."""

PLACES = """
    LEFT JOIN guilds g ON g.platform = c.platform AND g.number = c.guild
    LEFT JOIN channels p ON p.platform = c.platform AND p.number = c.parent
"""
"""The joins that a query of channels ``c`` needs for ``PLACED``."""


@dataclass(frozen=True, slots=True)
class ChannelPlace:
    """A channel's title, its server, and the channel above a thread; empty where there is none."""

    key: ChannelKey
    number: ChannelId
    title: str
    server: str
    parent_title: str


_FOUND = f"SELECT c.id AS key, c.number, c.title, {PLACED} FROM channels c {PLACES}"


async def of_keys(connection: Connection, keys: Collection[ChannelKey | None]) -> dict[ChannelKey, ChannelPlace]:
    """The places of these channels, by our numbers of them."""
    wanted = {key for key in keys if key is not None}
    rows = await connection.fetch(f"{_FOUND} WHERE c.id = ANY($1)", list(wanted)) if wanted else []
    return {row["key"]: from_row(ChannelPlace, row) for row in rows}


async def of_numbers(connection: Connection, numbers: Collection[ChannelId]) -> dict[ChannelId, ChannelPlace]:
    """The places of channels by their ids; those that two platforms have in common are left out."""
    rows = await connection.fetch(f"{_FOUND} WHERE c.number = ANY($1)", list(set(numbers))) if numbers else []
    found: dict[ChannelId, list[ChannelPlace]] = {}
    for row in rows:
        found.setdefault(row["number"], []).append(from_row(ChannelPlace, row))
    return {number: ones[0] for number, ones in found.items() if len(ones) == 1}
