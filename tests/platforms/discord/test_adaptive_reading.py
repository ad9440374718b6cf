"""Many channels at once against Discord's limits: the whole limit is used, and none is found by running into it."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.clock import HeldClock
from tidegate.lanes.rules.channels_at_once import ReadingLoad, may_begin
from tidegate.loopback.discord.rate_limits import Limits
from tidegate.platforms.discord.rate_limits import RateBucket, RateLimits

PAGE = "GET /channels/{channel.id}/messages"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
WINDOW = 5.0
AT_ONCE = 9


@dataclass
class Flight:
    """A call on its way: when it was sent, and how long its answer will take."""

    channel: str
    sent_at: float
    answer_takes: float
    taken: RateBucket
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    knows: bool = False


@dataclass
class Reading:
    """Channels read as ``ReadingTurns`` reads them, against the limits of the loopback, in simulated time."""

    limits: Limits
    travel: Iterator[float]
    drop_at: float | None = None
    drop_to: int = 1
    clock: HeldClock = field(default_factory=lambda: HeldClock(NOW))
    refused_sent_at: list[float] = field(default_factory=list)
    first_known_at: float = float("inf")
    last_of_before: float = 0.0
    widest: int = 0
    in_flight: int = 0
    events: list[tuple[float, int, Any]] = field(default_factory=list)
    order: Iterator[int] = field(default_factory=itertools.count)

    async def read(self, pages: dict[str, int]) -> None:
        meters, ready, left = RateLimits(self.clock), deque(pages), dict(pages)
        begun = self.clock.ticks()
        if self.drop_at is not None:
            self.at(begun + self.drop_at, None)
        while any(left.values()):
            while ready and may_begin(ReadingLoad(self.in_flight, 0, 0, self.in_flight, AT_ONCE)):
                channel = ready.popleft()
                if (wait := meters.refused_for(PAGE, channel)) > 0:
                    self.at(self.clock.ticks() + wait + 0.001, channel)
                    continue
                sent = Flight(channel, self.clock.ticks(), next(self.travel), meters.take(PAGE, channel))
                self.in_flight += 1
                self.at(self.clock.ticks() + next(self.travel), sent)
            self.widest = max(self.widest, self.in_flight)
            when, _, what = heapq.heappop(self.events)
            await self.clock._move_to(when)  # nobody sleeps on this clock, so nobody has to be woken
            if what is None:
                self.limits.routes[PAGE] = (self.drop_to, WINDOW)
            elif isinstance(what, str):
                ready.append(what)
            elif not what.headers:
                self.arrive(what)
            else:
                self.in_flight -= 1
                meters.answered(what.taken, PAGE, what.channel, what.headers)
                if what.knows:
                    self.first_known_at = min(self.first_known_at, self.clock.ticks())
                else:
                    self.last_of_before = self.clock.ticks()
                left[what.channel] -= not what.wait
                if left[what.channel]:
                    ready.append(what.channel)

    def at(self, when: float, what: Any) -> None:
        heapq.heappush(self.events, (when, next(self.order), what))

    def arrive(self, call: Flight) -> None:
        told = self.limits.charge("bot", PAGE, call.channel, self.clock.ticks())
        call.knows, call.wait = told.limit == self.drop_to and self.drop_at is not None, told.wait
        if told.wait:
            self.refused_sent_at.append(call.sent_at)
        call.headers = {
            "X-RateLimit-Limit": str(told.limit),
            "X-RateLimit-Remaining": "0" if told.wait else str(told.remaining),
            "X-RateLimit-Reset-After": str(told.reset_after),
            "X-RateLimit-Bucket": "hash",
        }
        self.at(self.clock.ticks() + call.answer_takes, call)


_TRAVEL = st.lists(st.floats(0.001, 0.8), min_size=1, max_size=12)
_PAGES = st.lists(st.integers(1, 12), min_size=1, max_size=14)


def reading(limit: int, travel: list[float], **others: Any) -> Reading:
    limits = Limits(scale=1, routes={PAGE: (limit, WINDOW)}, global_per_s=10_000)
    return Reading(limits, itertools.cycle(travel), **others)


@given(limit=st.integers(1, 6), travel=_TRAVEL, pages=_PAGES)
async def test_no_limit_that_is_announced_is_exceeded(limit: int, travel: list[float], pages: list[int]) -> None:
    """Whatever the latency, the order of answers and the number of channels: no call is refused, and all is read."""
    made = reading(limit, travel)
    await made.read({f"c{number}": count for number, count in enumerate(pages)})
    assert made.refused_sent_at == []
    assert made.widest <= AT_ONCE


@given(
    limit=st.integers(2, 6),
    data=st.data(),
    travel=_TRAVEL,
    pages=_PAGES,
    drop_at=st.floats(0, 12),
)
async def test_after_a_limit_drops_only_calls_in_flight_are_refused(
    limit: int, data: st.DataObject, travel: list[float], pages: list[int], drop_at: float
) -> None:
    """The lower limit holds for every channel, once an answer names it and none from before the drop is on its way."""
    made = reading(limit, travel, drop_at=drop_at, drop_to=data.draw(st.integers(1, limit - 1)))
    await made.read({f"c{number}": count for number, count in enumerate(pages)})
    assert all(sent <= max(made.first_known_at, made.last_of_before) for sent in made.refused_sent_at)


async def test_the_whole_lane_is_used_while_each_channel_is_limited() -> None:
    """Channels that used up their own limit make room for others: all slots of the lane are in use."""
    made = reading(5, [0.5])
    await made.read(dict.fromkeys(map(str, range(60)), 5))
    assert made.widest == AT_ONCE
