"""Emoji of reactions, buttons and poll answers. Pure."""

from __future__ import annotations

from typing import Any

from tidegate.platforms.discord.messages.json_values import object_in, text_in
from tidegate.platforms.discord.permissions import Json


def emoji_of(found: Json) -> str:
    """An emoji as people see it, or the name and number of a guild's own."""
    return f"{found.get('name') or ''}:{found['id']}" if found.get("id") else str(found.get("name") or "")


def emoji_text(value: Any) -> str:
    """The same within a text; empty where there is none."""
    found = object_in(value)
    name = text_in(found.get("name"))
    return f":{name}:" if name and found.get("id") else name
