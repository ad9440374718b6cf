"""The wall clock of a time zone: the zone of a name, and the instant at which its clock shows a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

SECOND = timedelta(seconds=1)


def zone_named(name: str) -> ZoneInfo:
    """The time zone of that name; ``ValueError`` with a sentence for an unknown one."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as problem:
        raise ValueError(f'There is no time zone "{name}"; write one such as Asia/Kuala_Lumpur or UTC.') from problem


def instant_shown(shown: datetime, zone: ZoneInfo) -> datetime:
    """The instant at which that zone's clock shows a time.

    A time that occurs twice means the first. A time that the clock skips means the instant of the jump.
    """
    early = shown.replace(tzinfo=zone).astimezone(UTC)
    if early.astimezone(zone).replace(tzinfo=None) == shown:
        return early
    return _jump(shown.replace(tzinfo=zone, fold=1).astimezone(UTC), early, zone)


def _jump(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """The second between two instants at which the zone's offset changes."""
    offset = after.astimezone(zone).utcoffset()
    while after - before > SECOND:
        middle = before + (after - before) // 2 // SECOND * SECOND
        if middle.astimezone(zone).utcoffset() == offset:
            after = middle
        else:
            before = middle
    return after
