"""How far back a search looks at first, so that a common word costs as little as a rare one.

The index of words knows no order in time: of a word in every tenth message it would bring them all to be sorted. So
the newest messages are looked through first, as many as should hold enough matches, and more only when they do not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

from tidegate.store.database import Connection

_FEW = 2_000
"""So many matches are sorted in no time; fewer messages are not worth a window."""

_COUNTED = 20_000
"""So many messages are counted along their index; beyond that the statistics tell, to one in a hundred."""

_LOOK, _FIND = 1, 1
"""What it costs to look at a message, and to find one by the index of words, as measured."""

_SPARE = 1.25
_WIDER = 4


@dataclass(frozen=True, slots=True)
class Expected:
    """How many messages the planner expects to match, of how many there are."""

    matches: int
    rows: int


@dataclass(frozen=True, slots=True)
class Window:
    """The messages from *low* on; None is all of them. In a *narrow* one it is quicker to look at each message."""

    low: datetime | None
    narrow: bool


async def back_from(
    connection: Connection, before: datetime | None, expected: Expected, depth: int
) -> AsyncIterator[Window]:
    """The windows to look through for the newest *depth* matches, each wider than the one before; at last all."""
    if expected.matches > max(_FEW, 2 * depth):
        wanted = max(_FEW, int(_SPARE * depth * expected.rows / expected.matches))
        while wanted < expected.rows / 2:
            low = await _instant(connection, before, wanted, expected.rows)
            if low is None:
                break
            yield Window(low, narrow=wanted * _LOOK <= expected.matches * _FIND)
            wanted *= _WIDER
    yield Window(None, narrow=False)


async def _instant(connection: Connection, before: datetime | None, wanted: int, rows: int) -> datetime | None:
    """When the message was posted that has *wanted* newer ones before *before*; None when that is not known."""
    if wanted <= _COUNTED:
        low: datetime | None = await connection.fetchval(
            """
            SELECT at FROM messages
            WHERE deleted_at IS NULL AND at < coalesce($1, 'infinity'::timestamptz)
            ORDER BY at DESC OFFSET $2 LIMIT 1
            """,
            before, wanted,
        )  # fmt: skip
        return low
    found: list[datetime] | None = await connection.fetchval(
        """
        SELECT histogram_bounds::text::timestamptz[] FROM pg_stats
        WHERE schemaname = current_schema() AND tablename = 'messages' AND attname = 'at'
        """
    )
    bounds = [one for one in found or () if before is None or one < before]
    place = len(bounds) - 2 - wanted * len(found or ()) // max(rows, 1)
    return bounds[place] if place >= 0 else None
