"""How many connections web clients may hold, and when a client is too slow to keep one."""

from __future__ import annotations

FEWEST = 16
"""Connections that clients may hold however few files the process may open: a browser alone uses six."""

SLOWEST = 4_096
"""Bytes a second that a client has to send or to take, on average, while the server waits for it."""

_RESERVED_SHARE = 4  # a quarter of all files that may be open stays free for the worker


def connection_limit(wanted: int, *, open_files: int, used_elsewhere: int) -> int:
    """How many connections clients may hold.

    *open_files* is the limit of the process. *used_elsewhere* counts files of the database, platforms and children; a
    reserve for them stays free.
    """
    free = open_files - used_elsewhere - open_files // _RESERVED_SHARE
    return max(FEWEST, min(wanted, free))


def patience_left(before: float, *, most: float, waited: float, moved: int) -> float:
    """How many seconds a client may still take, once the server *waited* and *moved* bytes meanwhile.

    It starts with *most*. Waiting uses it up and bytes earn it back. So silence ends after *most*, and a rate below
    ``SLOWEST`` soon after. Below zero the client is too slow.
    """
    return min(most, before - waited + moved / SLOWEST)
