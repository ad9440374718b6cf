"""How many channels of one account are read at once: as many as its lane and the database have room for.

Nothing here names a rate. Where a read waits for the pace, a slot or a pause, one more channel would only wait too, so
none is begun. Where answers are slow, more channels are begun until a call always waits. A channel whose own limit is
used up has no turn meanwhile (``ReadingTurns``), so others take its place.
"""

from __future__ import annotations

from dataclasses import dataclass

STORED_AT_ONCE = 4
"""Channels that may wait for the database instead of the platform, before another one is begun."""


@dataclass(frozen=True, slots=True)
class ReadingLoad:
    """What an account is reading."""

    running: int  # channels
    storing: int  # those of them that wait for the database and not for the platform
    queued: int  # reads of the account that wait until they may be made
    in_flight: int  # reads that wait for an answer
    at_once: int  # how many reads may be in flight


def may_begin(load: ReadingLoad, *, ceiling: int | None = None) -> bool:
    """Whether one more channel is read now, of which at most *ceiling* at once if the operator has set that."""
    if ceiling is not None and load.running >= ceiling:
        return False
    if not load.running:
        return True
    return not load.queued and load.in_flight < load.at_once and load.storing < STORED_AT_ONCE
