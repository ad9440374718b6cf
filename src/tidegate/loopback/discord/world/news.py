"""Changes of the world, as its listeners get them; the gateway turns them into Discord's events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tidegate.loopback.discord.world.history import Message
from tidegate.loopback.discord.world.places import Channel, Guild


@dataclass(frozen=True, slots=True)
class News:
    """One event by Discord's name; its subject decides who may see it, and *data* has its other fields.

    *only* is the bot it is meant for, 0 when it is for everyone who may see it.
    """

    name: str
    guild: Guild | None = None
    channel: Channel | None = None
    message: Message | None = None
    only: int = 0
    data: dict[str, Any] = field(default_factory=dict)
