"""Discord's ids: milliseconds since 2015 in the upper bits, so that ids are in order of creation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(2015, 1, 1, tzinfo=UTC)
LOW_BITS = 22


def snowflake(moment: datetime, low: int = 0) -> int:
    """The id of something created at *moment*; *low* makes ids of the same millisecond distinct."""
    return (moment - EPOCH) // timedelta(milliseconds=1) << LOW_BITS | low


def moment_of(number: int) -> datetime:
    """When the object with this id was created."""
    return EPOCH + timedelta(milliseconds=number >> LOW_BITS)
