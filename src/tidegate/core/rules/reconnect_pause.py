"""How long to wait before connecting again. Connecting over and over is what gets an account banned."""

from __future__ import annotations

from datetime import timedelta

STEADY_AFTER = timedelta(minutes=5)
"""A connection that held this long was a good one: the next loss starts over without a pause."""

FIRST_PAUSE = timedelta(seconds=1)
LONGEST_PAUSE = timedelta(minutes=5)


def reconnect_pause(last_pause: timedelta, *, held_for: timedelta, longest: timedelta = LONGEST_PAUSE) -> timedelta:
    """The pause before the next try, after one that waited *last_pause* and then held for *held_for*.

    Being let in proves nothing: a client that connects and dies at once pauses longer each time, as one that is
    refused does. A try that failed held for no time at all.
    """
    if held_for >= STEADY_AFTER:
        return timedelta()
    return min(max(last_pause * 2, FIRST_PAUSE), longest)
