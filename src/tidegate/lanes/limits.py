"""How much of a platform a lane uses: reads and sends apart."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from tidegate.rules.pacing import Allowance, Pace

HAND_OVER_WITHIN = timedelta(milliseconds=500)
"""A claimed send that reaches the client later than this is not sent: the slack of the pace covers no more (law 6)."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The most reads a second on average, and in flight at once; after a rest as many may start together.

    Without a rate, only those in flight are limited.
    """

    per_second: float | None
    at_once: int

    @property
    def pace(self) -> Pace | None:
        if self.per_second is None:
            return None
        return Pace(rate=1, per=timedelta(seconds=1 / self.per_second), burst=self.at_once, slack=timedelta())


TRANSFERS = ReadLimits(per_second=None, at_once=4)
"""For the bytes of files. A file is hundreds of calls that platforms expect one after the other: what they mind is
how many are in flight, and they ask to wait when it is too much."""


@dataclass(frozen=True, slots=True)
class SendLimits:
    """What the account may send, how many sends may be in flight at once, and the pace of each chat if it has one."""

    allowance: Allowance
    at_once: int = 1
    chat: Pace | None = None


CAREFUL = SendLimits(Allowance(ceiling=4))
"""For an account nobody has set limits for: the pace of a new number on the strictest platform."""
