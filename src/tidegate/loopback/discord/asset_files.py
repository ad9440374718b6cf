"""Files without signed links: stickers, emoji, pictures of people, and copies of pictures on other sites."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidegate.loopback.discord.world.messages.sample_files import sample_bytes, sticker_bytes
from tidegate.loopback.discord.world.world import World

PATHS = (
    "/stickers/{name}",
    "/emojis/{name}",
    "/avatars/{owner}/{name}",
    "/icons/{owner}/{name}",
    "/external/{name:.*}",
)
_TYPES = {"png": "image/png", "gif": "image/gif", "json": "application/json"}


def asset_bytes(world: World, path: str) -> tuple[bytes, str]:
    """The file at a path, and its type; a sticker in the format that some message names it with."""
    name = path.rpartition("/")[2]
    number, _, ending = name.partition(".")
    if path.startswith("/stickers/"):
        return sticker_bytes(number, _format_of(world, number, ending)), _TYPES.get(ending, "image/png")
    if path.startswith(("/avatars/", "/icons/", "/emojis/")):  # a PNG under any ending: clients go by the content
        return sample_bytes(f"{path}.png"), "image/png"
    return sample_bytes(path), _TYPES.get(ending, "application/octet-stream")


def _format_of(world: World, number: str, ending: str) -> int:
    usual = {"json": 3, "gif": 4}.get(ending, 1)
    formats = (row["format_type"] for row in _stickers(world) if str(row.get("id")) == number)
    return next((one for one in formats if isinstance(one, int)), usual)


def _stickers(world: World) -> Iterator[dict[str, Any]]:
    """Every sticker of a message; those of forwarded messages too."""
    for channel in world.channels.values():
        for message in channel.history.held.values():
            yield from _rows(message.fields)


def _rows(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "format_type" in value:
            yield value
        for one in value.values():
            yield from _rows(one)
    elif isinstance(value, list):
        for one in value:
            yield from _rows(one)
