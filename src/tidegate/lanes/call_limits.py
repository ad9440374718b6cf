"""How many calls a lane may make: reads and sends have limits of their own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from tidegate.lanes.rules.pace_bucket import Pace
from tidegate.lanes.rules.slowdown_after_warning import Allowance

HAND_OVER_WITHIN = timedelta(milliseconds=500)
"""A claimed send that reaches the client later than this is not sent: the slack of the pace covers no more.

Invariant: claim-before-send.
"""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Maximum reads per second on average, and in flight at once; after an idle time that many may start together.

    Without a rate, only the reads in flight are limited.
    """

    per_second: float | None
    at_once: int

    @property
    def pace(self) -> Pace | None:
        if self.per_second is None:
            return None
        return Pace(rate=1, per=timedelta(seconds=1 / self.per_second), burst=self.at_once, slack=timedelta())


TRANSFERS = ReadLimits(per_second=None, at_once=4)
"""For the bytes of files. A file takes hundreds of calls, which platforms expect one after the other. They limit the
number in flight, and answer with a rate limit when it is too high.
"""


@dataclass(frozen=True, slots=True)
class SendLimits:
    """What the account may send, the maximum number of sends in flight, and the pace of each chat if it has one."""

    allowance: Allowance
    at_once: int = 1
    chat: Pace | None = None


CAREFUL = SendLimits(Allowance(ceiling=4))
"""For an account without limits of its own: the pace of a new number on the strictest platform."""
