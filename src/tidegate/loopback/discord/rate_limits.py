"""Rate limits as Discord has them: a bucket for each route and major parameter, and one for each bot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

PER_CHANNEL_MESSAGES = (5, 5.0)
"""Calls, and the seconds in which they may be made, for one channel's messages. Discord does not publish this limit."""

_ELSEWHERE = (50, 1.0)
_BOOSTED_FILE_BYTES = {2: 50 << 20, 3: 100 << 20}
UNLIMITED = 50
"""What the headers say while limits are off, so that clients still make calls in parallel."""


class Verdict(NamedTuple):
    """A bucket's answer to a call: its limit, calls left, seconds to its reset, and the wait when it is refused."""

    limit: int
    remaining: int
    reset_after: float
    wait: float = 0.0
    scope: str = "user"


@dataclass(slots=True)
class Bucket:
    """Calls counted from the first of a window on."""

    begun: float
    used: int = 0


@dataclass(slots=True)
class Limits:
    """What the platform allows. *scale* multiplies every window: 1 is what Discord is believed to do, 0 is no limit."""

    scale: float = 0.0
    routes: dict[str, tuple[int, float]] = field(default_factory=dict)
    global_per_s: int = 50
    invalid: int = 10_000  # answers of 401, 403 and 429 in ten minutes; above it everything is refused
    file_bytes: int = 10 << 20  # of one file that comes with a message, where the guild is not boosted
    nonce_s: float = 180.0  # how long a nonce is remembered
    resume_s: float = 180.0  # how long a gateway session waits to be resumed
    heartbeat_ms: int = 41_250
    buckets: dict[str, Bucket] = field(default_factory=dict)

    def largest_file(self, premium_tier: int) -> int:
        """How many bytes a file may have in a guild of this tier."""
        return _BOOSTED_FILE_BYTES.get(premium_tier, self.file_bytes)

    def allowance(self, method: str) -> tuple[int, float]:
        usual = PER_CHANNEL_MESSAGES if method.endswith("/channels/{channel.id}/messages") else _ELSEWHERE
        return self.routes.get(method, usual)

    def charge(self, bot: str, method: str, major: str, now: float) -> Verdict:
        """Count a call at *now*, or refuse it; a refused one is not counted."""
        if self.scale <= 0:
            return Verdict(UNLIMITED, UNLIMITED - 1, 0.001)
        everything = self._ask(bot, self.global_per_s, self.scale, now)
        if everything.wait:
            return everything._replace(scope="global")
        limit, seconds = self.allowance(method)
        verdict = self._ask(f"{bot}/{method}/{major}", limit, seconds * self.scale, now)
        if not verdict.wait:
            self.buckets[bot].used += 1
            self.buckets[f"{bot}/{method}/{major}"].used += 1
        return verdict

    def _ask(self, key: str, limit: int, seconds: float, now: float) -> Verdict:
        bucket = self.buckets.get(key)
        if bucket is None or now >= bucket.begun + seconds:
            bucket = self.buckets[key] = Bucket(now)
        reset_after = bucket.begun + seconds - now
        wait = reset_after if bucket.used >= limit else 0.0
        return Verdict(limit, max(0, limit - bucket.used - 1), reset_after, wait)
