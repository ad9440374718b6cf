"""Reactions to messages: who reacted with which emoji, and the news of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidegate.loopback.discord.history import Message
from tidegate.loopback.discord.message_shapes import emoji as emoji_shape
from tidegate.loopback.discord.news import News
from tidegate.loopback.discord.places import Channel
from tidegate.loopback.discord.world import World


def add_reaction(world: World, channel: Channel, number: int, emoji: str, user: int) -> None:
    """A user reacts; a second time changes nothing."""
    message = world.message(channel, number)
    users = message.reactions.get(emoji, [])
    if user not in users:
        _set(channel, message, message.reactions | {emoji: [*users, user]})
        world.tell(News("MESSAGE_REACTION_ADD", world.guild_of(channel), channel, data=_data(message, emoji, user)))


def remove_reaction(world: World, channel: Channel, number: int, emoji: str, user: int) -> None:
    """A user takes a reaction back; without one nothing changes."""
    message = world.message(channel, number)
    users = message.reactions.get(emoji, [])
    if user in users:
        left = [one for one in users if one != user]
        others = {named: held for named, held in message.reactions.items() if named != emoji}
        _set(channel, message, others | ({emoji: left} if left else {}))
        world.tell(News("MESSAGE_REACTION_REMOVE", world.guild_of(channel), channel, data=_data(message, emoji, user)))


def clear_reactions(world: World, channel: Channel, number: int) -> None:
    """Somebody who may do so takes all reactions off a message."""
    message = world.message(channel, number)
    _set(channel, message, {})
    data = {"message_id": str(number)}
    world.tell(News("MESSAGE_REACTION_REMOVE_ALL", world.guild_of(channel), channel, data=data))


def _set(channel: Channel, message: Message, reactions: dict[str, list[int]]) -> None:
    channel.history.put(replace(message, reactions=reactions))


def _data(message: Message, emoji: str, user: int) -> dict[str, Any]:
    return {
        "user_id": str(user),
        "message_id": str(message.id),
        "message_author_id": str(message.author),
        "emoji": emoji_shape(emoji),
        "burst": False,
        "type": 0,
    }
