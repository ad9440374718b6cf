"""Where a listing of archived threads goes on. Pure."""

from __future__ import annotations

from datetime import timedelta

from tidegate.platforms.discord.rights import Json
from tidegate.platforms.discord.translate import instant
from tidegate.port import Cursor

_OVERLAP = timedelta(milliseconds=1)


def next_archived(answer: Json, after: Cursor | None) -> Cursor | None:
    """Where the listing goes on after *answer*, which was asked for at *after*; None when it is complete.

    The bound is an instant, and several threads can have been archived in the same one. So the next page begins a
    little above the last thread, and repeats some; only where a whole page shares one instant it steps below it.
    """
    if not answer.get("has_more") or not answer["threads"]:
        return None
    last = min(instant(one["thread_metadata"]["archive_timestamp"]) for one in answer["threads"])
    overlapping = Cursor((last + _OVERLAP).isoformat())
    return Cursor(last.isoformat()) if after is not None and instant(after) <= last + _OVERLAP else overlapping
