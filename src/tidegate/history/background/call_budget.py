"""Reads some of each channel in turn, while a budget of calls lasts. The rest is read in the next pass."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from typing import TypeVar

import structlog

from tidegate.core.errors import ENDS_CYCLE, LongWait, PlatformError
from tidegate.lanes import reading_in_background
from tidegate.scans.queries.scan_memory import ScanPlace
from tidegate.scans.scan_context import ScanContext, park

log = structlog.get_logger()

PASS_EVERY = timedelta(minutes=10)

T = TypeVar("T")


def calls_a_pass(calls: int, per: timedelta) -> int:
    """How many calls one pass may make where *calls* are allowed *per* span."""
    return -(-calls * PASS_EVERY // per)


async def read_within(
    context: ScanContext,
    channels: Iterable[T],
    *,
    calls: int,
    place_of: Callable[[T], Awaitable[ScanPlace | None]],
    read: Callable[[ScanPlace], Awaitable[int]],
    line: str,
) -> None:
    """Let *read* make calls for each channel until it makes none; it returns how many it made.

    A channel with a long rate limit is parked. A failure is logged as *line* and stops no other channel.
    """
    left = calls
    with reading_in_background():
        for channel in channels:
            if left <= 0:
                return
            place = await place_of(channel)
            if place is None:
                continue
            try:
                while left > 0 and (made := await read(place)):
                    left -= made
            except ENDS_CYCLE:
                raise
            except LongWait as wait:
                await park(context, place, wait)
            except PlatformError as problem:
                left -= 1
                log.warning(line, channel=place.channel, problem=str(problem), next="the next pass")
