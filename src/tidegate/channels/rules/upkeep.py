"""How a channel's copy is kept up."""

from __future__ import annotations

from enum import StrEnum


class ChannelUpkeep(StrEnum):
    """How a channel's copy is kept up; *trouble* is everything that a person should see to."""

    CURRENT = "current"
    BEHIND = "behind"
    NEW = "new"
    UNREADABLE = "unreadable"
    TROUBLE = "trouble"
