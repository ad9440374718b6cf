"""Discord's rate-limit buckets, read from response headers: calls left, and when the bucket is full again.

Discord names a bucket by a hash, once for each channel or guild. Several methods can share one. With the buckets the
account is rarely rate limited. An account with too many refused calls is blocked entirely.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import structlog

from tidegate.core.clock import Clock
from tidegate.core.errors import AskedToWait
from tidegate.platforms.discord.errors import RestAnswer, is_shared

log = structlog.get_logger()

NEXT_ANSWER = 0.05
"""When to check again where calls in flight may use up the rest: their answers will show it."""

UNKNOWN_RESET = 1.0
LONGEST_RESET = 60.0
"""Seconds until a bucket fills where its answer does not say, and the maximum accepted from one that does."""

REFUSED_IN_A_ROW = 25
REFUSED_IN_TEN_MINUTES = 1_000
"""Discord blocks an address after 10,000 refused calls in ten minutes; far below that, the account pauses."""

TEN_MINUTES = timedelta(minutes=10)
_REFUSALS = (401, 403, 429)


@dataclass(slots=True)
class RateBucket:
    """The calls left in one bucket. *limit* is None until an answer has named it."""

    limit: int | None = None
    left: int = 1
    fills_at: float = 0.0
    in_flight: int = 0
    is_told: bool = False

    def refused_for(self, now: float, told: int | None) -> float:
        """For how many seconds a call would be refused, *told* being the last known limit of a bucket of this kind.

        Where that is lower, it was lowered, and the calls left here are fewer by as many.
        """
        if now >= self.fills_at:
            self.left = self.limit or max(self.left, 1)
        lowered = max(0, self.limit - told) if self.limit and told else 0
        left = self.left - lowered
        if left - self.in_flight > 0:
            return 0.0
        return NEXT_ANSWER if left > 0 else max(0.0, self.fills_at - now)

    def heed(self, left: int, fills_in: float, now: float) -> None:
        """Store what an answer says. Answers may arrive in another order than their calls, so the lowest count holds.

        It holds until the bucket is full again; from then on the next answer counts.
        """
        if self.is_told and now < self.fills_at:
            left = min(left, self.left)
        self.left, self.fills_at, self.is_told = left, now + fills_in, True


class RateLimits:
    """All buckets one account has used. A call is taken from its bucket before it is sent, and noted when answered."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._hashes: dict[str, str] = {}
        self._limits: dict[str, int] = {}
        self._buckets: dict[tuple[str, str], RateBucket] = {}

    def refused_for(self, method: str, major: str) -> float:
        """For how many seconds a call would be refused; 0 when it may be sent."""
        told = self._limits.get(self._hashes.get(method, method))
        return self._bucket(method, major).refused_for(self._clock.ticks(), told)

    def take(self, method: str, major: str) -> RateBucket:
        """Take a call from its bucket; pass the bucket to ``answered`` with the answer, or without one."""
        bucket = self._bucket(method, major)
        bucket.in_flight += 1
        return bucket

    def answered(self, taken: RateBucket, method: str, major: str, headers: Mapping[str, str] | None) -> None:
        """Store what an answer says about its bucket; None when there was no answer.

        Proxies drop and change headers, so each may be missing or invalid: what cannot be parsed is ignored.
        """
        taken.in_flight -= 1
        left = None if headers is None else _number(headers.get("X-RateLimit-Remaining"))
        if headers is None or left is None:
            return
        name = headers.get("X-RateLimit-Bucket", method)
        self._hashes[method] = name
        bucket = self._buckets.setdefault((name, major), taken)
        limit = _number(headers.get("X-RateLimit-Limit"))
        if limit is not None and limit >= 1:
            bucket.limit = self._limits[name] = int(limit)
        fills_in = _number(headers.get("X-RateLimit-Reset-After"))
        bucket.heed(int(left), UNKNOWN_RESET if fills_in is None else min(fills_in, LONGEST_RESET), self._clock.ticks())

    def _bucket(self, method: str, major: str) -> RateBucket:
        """A new bucket is as large as others of its method; the very first of a method permits one call."""
        name = self._hashes.get(method, method)
        key = (name, major)
        if key not in self._buckets:
            if len(self._buckets) > 10_000:
                self._forget_idle()
            limit = self._limits.get(name)
            self._buckets[key] = RateBucket(limit, limit or 1)
        return self._buckets[key]

    def _forget_idle(self) -> None:
        now = self._clock.ticks()
        self._buckets = {key: one for key, one in self._buckets.items() if one.in_flight or one.fills_at > now}


class RestsByItself(AskedToWait):
    """So many calls were refused that the account pauses before Discord blocks it."""

    def __init__(self, refusals: str) -> None:
        super().__init__(TEN_MINUTES)
        self.args = (
            f"Discord refused {refusals}, so the account rests for ten minutes: at 10,000 refusals in ten minutes "
            "Discord shuts the whole address out. See what is refused with: tidegate calls",
        )


class Refusals:
    """Counts refused calls as Discord does for an address, and pauses the account long before the limit."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at: deque[float] = deque()
        self._in_a_row = 0

    def note(self, answer: RestAnswer) -> RestsByItself | None:
        """Count an answer; returns the pause to make when there were too many. After a pause, one more is too many."""
        if answer.status not in _REFUSALS:
            self._in_a_row = 0
            return None
        if is_shared(answer):
            return None
        now = self._clock.ticks()
        self._at.append(now)
        while self._at[0] <= now - TEN_MINUTES.total_seconds():
            self._at.popleft()
        if answer.status == 401:
            return None  # the account is signed out and stops anyway
        if answer.status == 429:
            self._in_a_row += 1
        if self._in_a_row >= REFUSED_IN_A_ROW:
            return self._rest(f"{self._in_a_row} calls in a row")
        if len(self._at) >= REFUSED_IN_TEN_MINUTES:
            return self._rest(f"{len(self._at)} calls in ten minutes")
        return None

    def _rest(self, refusals: str) -> RestsByItself:
        rest = RestsByItself(refusals)
        log.warning("discord.rests", why=str(rest))
        return rest


def _number(written: str | None) -> float | None:
    """A header's value as a number of 0 or more; None when it is missing or invalid."""
    try:
        value = float(written or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None
