"""Pinned messages of a channel, and what the platform tells about them."""

from __future__ import annotations

from dataclasses import replace

from tidegate.core.errors import BadInput
from tidegate.loopback.discord.world.history import Message
from tidegate.loopback.discord.world.news import News
from tidegate.loopback.discord.world.places import Channel
from tidegate.loopback.discord.world.world import World

PINS_ADD = 6
"""The kind of the message that somebody pinned another one."""

MOST_PINS = 250


def pinned(channel: Channel) -> list[Message]:
    """The pinned messages, the last pinned first."""
    held = [message for message in channel.history.held.values() if message.pinned_at]
    return sorted(held, key=lambda message: (message.pinned_at, message.id), reverse=True)


def pin(world: World, channel: Channel, number: int, by: int = 0) -> Message | None:
    """Pin a message; returns the message that says so. A pinned one stays as it is."""
    message = world.message(channel, number)
    if message.pinned_at:
        return None
    if len(pinned(channel)) >= MOST_PINS:
        raise BadInput(f"{channel.name} has {MOST_PINS} pinned messages, which is the maximum.")
    channel.pinned_at = world.clock.now()
    world.change_message(channel, replace(message, pinned_at=channel.pinned_at))
    _tell(world, channel)
    reference = {"type": 0, "message_id": str(number), "channel_id": str(channel.id)}
    reference |= {"guild_id": str(channel.guild)} if channel.guild else {}
    return world.post(channel, author=by, kind=PINS_ADD, fields={"message_reference": reference})


def unpin(world: World, channel: Channel, number: int) -> None:
    """Unpin a message; without a pin nothing changes."""
    message = world.message(channel, number)
    if message.pinned_at:
        world.change_message(channel, replace(message, pinned_at=None))
        left = pinned(channel)
        channel.pinned_at = left[0].pinned_at if left else None
        _tell(world, channel)


def _tell(world: World, channel: Channel) -> None:
    data = {"last_pin_timestamp": channel.pinned_at.isoformat() if channel.pinned_at else None}
    world.tell(News("CHANNEL_PINS_UPDATE", world.guild_of(channel), channel, data=data))
