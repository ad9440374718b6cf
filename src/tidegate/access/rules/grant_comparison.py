"""What a token opens, and whether one token may give, take or confirm another."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.core.ids import ChannelKey


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token or session may do: *scopes*, in which *channels* (None is all), and until when (None is no end)."""

    scopes: frozenset[str]
    channels: frozenset[ChannelKey] | None = None
    expires_at: datetime | None = None


def excess(wanted: Grant, own: Grant) -> list[str]:
    """What *wanted* has beyond *own*, one phrase for each; nothing when *own* covers all of it."""
    beyond = []
    if scopes := sorted(wanted.scopes - own.scopes):
        beyond.append(f"the scope {', '.join(scopes)}" if len(scopes) == 1 else f"the scopes {', '.join(scopes)}")
    if own.channels is not None and (wanted.channels is None or not wanted.channels <= own.channels):
        beyond.append("channels that it is not for")
    if own.expires_at is not None and (wanted.expires_at is None or wanted.expires_at > own.expires_at):
        beyond.append("a later end")
    return beyond
