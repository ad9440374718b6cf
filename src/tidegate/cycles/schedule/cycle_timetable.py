"""How often an account's cycles run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

JITTER = 0.1
"""The fraction by which the time between two cycles varies, so that accounts do not run in step."""


SOON = timedelta(seconds=2)
"""How long a hint waits for others, because posts come in bursts."""


LOOK_EVERY = timedelta(minutes=1)
"""How often to check for work that cannot wait for the next cycle: a channel just enabled, a requested retry."""


@dataclass(frozen=True, slots=True)
class CycleTimetable:
    """How often cycles run; with *every* None, only on request.

    *every_live* is the interval while push updates arrive. *dice* gives a number from 0 to 1.
    """

    every: timedelta | None = timedelta(minutes=60)
    soon: timedelta = SOON
    every_live: timedelta = timedelta(hours=4)
    look_every: timedelta = LOOK_EVERY
    dice: Callable[[], float] = lambda: 0.0

    def pause(self, *, live: bool) -> timedelta | None:
        """How long to wait for the next cycle; None for no limit, until one is requested."""
        if self.every is None:
            return None
        return (max(self.every, self.every_live) if live else self.every) * (1 + JITTER * self.dice())
