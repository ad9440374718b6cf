"""The states of a channel's mirror: whether its copy is up to date, and if not, why."""

from __future__ import annotations

from enum import StrEnum


class MirrorState(StrEnum):
    """Whether the copy of a channel is up to date; *trouble* is everything that needs attention."""

    CURRENT = "current"
    BEHIND = "behind"
    NEW = "new"
    UNREADABLE = "unreadable"
    TROUBLE = "trouble"
