"""Fields of a message that is no text, as labelled lines for people: a contact, a place, a list of tasks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.core.message_content import MessageKind

_MOST_LINES = 40
_LONGEST = 500
_NOT_READ = frozenset(
    {
        "vcard", "width", "height", "person", "owner", "channel", "channels", "winners", "launch", "venue", "set",
        "venue_type", "duration", "story", "key", "mask", "cover", "emoji", "items", "latitude", "longitude",
    }
)  # fmt: skip
"""Numbers for programs, and what is shown in another way."""


@dataclass(frozen=True, slots=True)
class DetailLine:
    """A line; *link* is an address that a person may open."""

    label: str
    value: str
    link: str = ""


def detail_lines(kind: str, details: Mapping[str, Any] | None) -> list[DetailLine]:
    """What a person reads of the details."""
    details = details or {}
    lines = [
        *_place(details),
        *(DetailLine(_label(name), value) for name, one in details.items() if (value := _value(name, one))),
        *_tasks(details),
        *_stickers(details),
    ]
    if kind == MessageKind.DICE and "value" in details:
        lines = [DetailLine("Value", str(details["value"])[:_LONGEST])]
    return lines[:_MOST_LINES]


def _label(name: str) -> str:
    return name.replace("_", " ")[:60].capitalize()


def _value(name: str, value: Any) -> str:
    """A value in words; empty for what nobody reads."""
    if isinstance(value, list) and all(isinstance(one, str | int | float) for one in value):
        return "" if name in _NOT_READ else ", ".join(map(str, value[:_MOST_LINES]))[:_LONGEST]
    if isinstance(value, bool):
        return "yes" if value else ""
    is_number = name in ("winners", "items") and isinstance(value, int)
    is_read = name not in _NOT_READ or is_number
    return str(value)[:_LONGEST] if is_read and isinstance(value, str | int | float) else ""


def _place(details: Mapping[str, Any]) -> list[DetailLine]:
    """Where something is, as coordinates that lead to a map."""
    place = (details.get("latitude"), details.get("longitude"))
    if not all(isinstance(one, int | float) for one in place):
        return []
    latitude, longitude = (f"{one:.5f}" for one in place)
    link = f"https://www.openstreetmap.org/?mlat={latitude}&mlon={longitude}#map=15/{latitude}/{longitude}"
    return [DetailLine("Place", f"{latitude}, {longitude}", link)]


def _tasks(details: Mapping[str, Any]) -> list[DetailLine]:
    items = details.get("items")
    tasks = [one for one in items if isinstance(one, Mapping)] if isinstance(items, list) else []
    return [
        DetailLine("Done" if one.get("done_by") or one.get("done_at") else "To do", str(one.get("text", ""))[:_LONGEST])
        for one in tasks
    ]


def _stickers(details: Mapping[str, Any]) -> list[DetailLine]:
    stickers = details.get("stickers")
    named = [one for one in stickers if isinstance(one, Mapping)] if isinstance(stickers, list) else []
    return [DetailLine("Sticker", str(one.get("name", ""))[:_LONGEST]) for one in named]


def service_words(service: str) -> str:
    """A platform's name of what it announces, in words: ``MessageActionChatAddUser`` is "chat add user"."""
    name = service.removeprefix("MessageAction").replace("_", " ").replace(".", " ")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).strip().lower()


def reaction_words(emoji: str) -> str:
    """A reaction as it is shown; a server's own emoji by its name."""
    name, colon, number = emoji.rpartition(":")
    if emoji == "paid":
        return "⭐"
    if colon and number.isdigit():
        return "custom emoji" if name == "custom" else f":{name}:"
    return emoji
