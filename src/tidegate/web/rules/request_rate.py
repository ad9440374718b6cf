"""How many requests a client may make in a row, and how many a second after that (GCRA, in seconds of one clock)."""

from __future__ import annotations

from typing import NamedTuple

BURST_FOR = 10.0
"""Seconds' worth of requests that a client may make at once, such as a page with all it loads."""


class Charged(NamedTuple):
    """*paid_until* is what the client has used up so far; *wait* is above 0 when the request is refused."""

    paid_until: float
    wait: float


def charge_request(paid_until: float, now: float, *, per_second: int) -> Charged:
    """Charge one request at *now*; one that is refused costs nothing."""
    after = max(paid_until, now) + 1 / per_second
    wait = after - now - BURST_FOR
    return Charged(paid_until, wait) if wait > 0 else Charged(after, 0.0)
