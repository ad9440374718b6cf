"""What happened in the world, as it is told to whoever listens: the gateway makes Discord's events of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tidegate.loopback.discord.history import Message
from tidegate.loopback.discord.places import Channel, Guild


@dataclass(frozen=True, slots=True)
class News:
    """One event by Discord's name; what it is about decides who may hear of it, and *data* is what else it says.

    *only* is the bot it is meant for, 0 when it is for everyone who may see it.
    """

    name: str
    guild: Guild | None = None
    channel: Channel | None = None
    message: Message | None = None
    only: int = 0
    data: dict[str, Any] = field(default_factory=dict)
