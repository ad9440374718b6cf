"""How far back a search looks first, so that a common word costs as little as a rare one.

The index of words has no order in time: for a word in every tenth message it would return all of them to be sorted. So
the newest messages are searched first, as many as should hold enough matches, and more only when they do not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

from tidegate.database.pool import Connection

_FEW = 2_000
"""This number of matches is sorted quickly; a window with fewer messages saves nothing."""

_COUNTED = 20_000
"""This number of messages is counted along their index; beyond it the statistics are used, to one in a hundred."""

_LOOK, _FIND, _ENTRY = 0.4, 1.0, 0.2
"""What it costs to look at a message, to find one by the index of words, and to read an entry there, as measured."""

_SPARE = 1.25
_WIDER = 4


Span = tuple[datetime | None, datetime | None]
"""From a time on, before another; None is unbounded."""


@dataclass(frozen=True, slots=True)
class ExpectedMatches:
    """What the planner expects: how many messages match, of how many in the time asked for.

    *others* are those that fit but for the words, *entries* what the index of words has of them in all of time.
    """

    matches: int
    rows: int
    others: int
    entries: int

    @property
    def finding(self) -> float:
        """What it costs to find all matches by the index of words."""
        return self.matches * _FIND + self.entries * _ENTRY

    def narrow(self, rows: int) -> bool:
        """Whether looking at this number of messages one by one is quicker."""
        return rows * _LOOK <= self.finding


@dataclass(frozen=True, slots=True)
class SearchWindow:
    """The messages from *low* on; None is all of them. In a *narrow* one it is quicker to look at each message."""

    low: datetime | None
    narrow: bool


async def back_from(
    connection: Connection, span: Span, expected: ExpectedMatches, depth: int
) -> AsyncIterator[SearchWindow]:
    """The windows to search for the newest *depth* matches, each wider than the one before; the last has no bound."""
    if expected.finding > _FEW and expected.matches > 2 * depth:
        wanted = max(_FEW, int(_SPARE * depth * expected.rows / expected.matches))
        while wanted < expected.rows / 2:
            low = await _instant(connection, span, wanted, expected.rows)
            if low is None:
                break
            yield SearchWindow(low, narrow=expected.narrow(wanted))
            wanted *= _WIDER
    yield SearchWindow(None, narrow=expected.narrow(expected.others))


async def _instant(connection: Connection, span: Span, wanted: int, rows: int) -> datetime | None:
    """When the message was posted that has *wanted* newer ones in the span; None when that is not known."""
    after, before = span
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
    bounds = [one for one in found or () if (after is None or after <= one) and (before is None or one < before)]
    place = len(bounds) - 2 - wanted * len(bounds) // max(rows, 1)
    return bounds[place] if place >= 0 else None
