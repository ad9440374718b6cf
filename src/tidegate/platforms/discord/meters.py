"""Discord's own meters, read from its answers: how much of a bucket is left, and when it fills again.

A bucket is what Discord names by a hash, once for each channel or guild. Several methods can share one. Going by it
beforehand, the account is hardly ever refused; who is refused too often is shut out for all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import structlog

from tidegate.clock import Clock
from tidegate.errors import AskedToWait
from tidegate.platforms.discord.troubles import Answer, is_shared

log = structlog.get_logger()

NEXT_ANSWER = 0.05
"""When to look again where calls in flight may use up the rest: their answers will tell."""

REFUSED_IN_A_ROW = 25
REFUSED_IN_TEN_MINUTES = 1_000
"""Discord shuts an address out after 10,000 refusals in ten minutes; far below that, the account rests by itself."""

TEN_MINUTES = timedelta(minutes=10)
_REFUSALS = (401, 403, 429)


@dataclass(slots=True)
class Bucket:
    """What is left of one bucket. *limit* is None until an answer has told it."""

    limit: int | None = None
    left: int = 1
    fills_at: float = 0.0
    in_flight: int = 0

    def refused_for(self, now: float) -> float:
        if self.limit is not None and now >= self.fills_at:
            self.left = self.limit
        if self.left - self.in_flight > 0:
            return 0.0
        return NEXT_ANSWER if self.left > 0 else max(0.0, self.fills_at - now)


class Meters:
    """All buckets one account has met. A call is taken from its bucket before it leaves, and noted when answered."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._hashes: dict[str, str] = {}
        self._limits: dict[str, int] = {}
        self._buckets: dict[tuple[str, str], Bucket] = {}

    def refused_for(self, method: str, major: str) -> float:
        """For how many seconds a call would be refused; 0 when it may go."""
        return self._bucket(method, major).refused_for(self._clock.ticks())

    def take(self, method: str, major: str) -> Bucket:
        """A call leaves; the bucket goes to ``answered`` with its answer, or without one."""
        bucket = self._bucket(method, major)
        bucket.in_flight += 1
        return bucket

    def answered(self, taken: Bucket, method: str, major: str, headers: Mapping[str, str] | None) -> None:
        """Take over what an answer says of its bucket; None when there was no answer."""
        taken.in_flight -= 1
        if headers is None or "X-RateLimit-Remaining" not in headers:
            return
        name = headers.get("X-RateLimit-Bucket", method)
        self._hashes[method] = name
        bucket = self._buckets.setdefault((name, major), taken)
        bucket.limit = self._limits[name] = int(headers["X-RateLimit-Limit"])
        bucket.left = int(headers["X-RateLimit-Remaining"])
        bucket.fills_at = self._clock.ticks() + float(headers["X-RateLimit-Reset-After"])

    def _bucket(self, method: str, major: str) -> Bucket:
        """One that nobody has met yet is as large as its siblings; the very first of a method lets one call go."""
        name = self._hashes.get(method, method)
        key = (name, major)
        if key not in self._buckets:
            if len(self._buckets) > 10_000:
                self._forget_idle()
            limit = self._limits.get(name)
            self._buckets[key] = Bucket(limit, limit or 1)
        return self._buckets[key]

    def _forget_idle(self) -> None:
        now = self._clock.ticks()
        self._buckets = {key: one for key, one in self._buckets.items() if one.in_flight or one.fills_at > now}


class RestsByItself(AskedToWait):
    """So many calls were refused that the account rests before Discord shuts it out."""

    def __init__(self, refusals: str) -> None:
        super().__init__(TEN_MINUTES)
        self.args = (
            f"Discord refused {refusals}, so the account rests for ten minutes: at 10,000 refusals in ten minutes "
            "Discord shuts the whole address out. See what is refused with: tidegate calls",
        )


class Refusals:
    """Counts what Discord holds against an address, and has the account rest long before it is too much."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at: deque[float] = deque()
        self._in_a_row = 0

    def note(self, answer: Answer) -> RestsByItself | None:
        """Count an answer; the rest to take when that was one too many. After a rest, one more is."""
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
            return None  # the account is signed out and stops by itself
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
