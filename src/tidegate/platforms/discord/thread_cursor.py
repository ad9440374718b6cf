"""The cursor of a listing of archived threads. Pure."""

from __future__ import annotations

from datetime import timedelta

from tidegate.platforms.discord.permissions import Json
from tidegate.platforms.discord.translation import instant
from tidegate.platforms.interface import Cursor

_OVERLAP = timedelta(milliseconds=1)


def next_archived(answer: Json, after: Cursor | None) -> Cursor | None:
    """The cursor after *answer*, which was requested at *after*; None when the listing is complete.

    The bound is an instant, and several threads can share one. So the next page begins a little above the last thread,
    and repeats some. Only where a whole page shares one instant does it begin below it.
    """
    if not answer.get("has_more") or not answer["threads"]:
        return None
    last = min(instant(one["thread_metadata"]["archive_timestamp"]) for one in answer["threads"])
    overlapping = Cursor((last + _OVERLAP).isoformat())
    return Cursor(last.isoformat()) if after is not None and instant(after) <= last + _OVERLAP else overlapping
