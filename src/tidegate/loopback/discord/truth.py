"""A message as the platform itself holds it, for comparison with what a client stored."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from tidegate.loopback.discord import message_shapes
from tidegate.loopback.discord.world.history import Message, written_at
from tidegate.loopback.discord.world.messages.sample_files import STICKER_ENDINGS, sticker_bytes
from tidegate.loopback.discord.world.places import Channel
from tidegate.loopback.discord.world.world import World


def truth_of(world: World, channel: Channel, message: Message, at: str) -> dict[str, Any]:
    """Every field of a message: those in short, and *raw* as Discord would send it to somebody who may read all."""
    return {
        "id": message.id,
        "date": written_at(message).isoformat(),
        "kind": message.kind,
        "author": message.author,
        "author_name": world.user(message.author).name,
        "text": message.text,
        "edited_at": message.edited_at.isoformat() if message.edited_at else None,
        "reply_to": message.reply_to or None,
        "flags": message.flags,
        "reactions": {
            emoji: len(message.reactions.get(emoji, ())) + len(message.bursts.get(emoji, ()))
            for emoji in dict.fromkeys([*message.reactions, *message.bursts])
        },
        "poll": _poll(message),
        "pinned_at": message.pinned_at.isoformat() if message.pinned_at else None,
        "files": list(_files(message)),
        "fields": message.fields,
        "raw": message_shapes.message(world, channel, message, None, at, content=True),
    }


def _poll(message: Message) -> dict[str, Any] | None:
    if message.poll is None:
        return None
    votes = {str(answer): len(by) for answer, by in message.poll.votes.items()}
    return {"votes": votes, "finalized": message.poll.finalized}


def _files(message: Message) -> Iterator[dict[str, Any]]:
    """The files of a message, those that embeds, components and forwarded messages show, and stickers."""
    for file in message.attachments:
        yield {
            "id": file.id,
            "name": file.name,
            "size": len(file.content),
            "sha256": sha256(file.content).hexdigest(),
            "listed": not file.hidden,
        }
    stickers = message.fields.get("sticker_items")
    for sticker in stickers if isinstance(stickers, list) else ():
        if isinstance(sticker, dict) and sticker.get("format_type") in STICKER_ENDINGS:
            content = sticker_bytes(str(sticker.get("id")), sticker["format_type"])
            name = f"{sticker.get('id')}.{STICKER_ENDINGS[sticker['format_type']]}"
            yield {
                "id": sticker.get("id"),
                "name": name,
                "size": len(content),
                "sha256": sha256(content).hexdigest(),
                "listed": False,
            }
