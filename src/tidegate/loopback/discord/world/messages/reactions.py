"""Reactions to messages: who reacted with which emoji, and the events about it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidegate.core.errors import BadInput
from tidegate.loopback.discord.message_shapes import emoji as emoji_shape
from tidegate.loopback.discord.world.history import Message
from tidegate.loopback.discord.world.news import News
from tidegate.loopback.discord.world.places import Channel
from tidegate.loopback.discord.world.world import World

_MOST_EMOJI = 20


def emoji_named(message: Message, emoji: str) -> str:
    """The emoji as the message has it: a path names an animated one without its mark."""
    held = [*message.reactions, *message.bursts]
    return next((one for one in held if one in (emoji, f"a:{emoji}")), emoji)


def add_reaction(world: World, channel: Channel, number: int, emoji: str, user: int, *, burst: bool = False) -> None:
    """A user reacts; a second time changes nothing."""
    message = world.message(channel, number)
    held = message.bursts if burst else message.reactions
    users = held.get(emoji, [])
    if user in users:
        return
    if emoji not in {*message.reactions, *message.bursts} and len(message.reactions) >= _MOST_EMOJI:
        raise BadInput(f"A message has at most {_MOST_EMOJI} emoji.")
    _set(channel, message, held | {emoji: [*users, user]}, burst=burst)
    data = _data(message, emoji, user, burst=burst)
    world.tell(News("MESSAGE_REACTION_ADD", world.guild_of(channel), channel, data=data))


def remove_reaction(world: World, channel: Channel, number: int, emoji: str, user: int, *, burst: bool = False) -> None:
    """A user removes their reaction; without one nothing changes."""
    message = world.message(channel, number)
    held = message.bursts if burst else message.reactions
    users = held.get(emoji, [])
    if user in users:
        left = [one for one in users if one != user]
        _set(channel, message, {one: by for one, by in (held | {emoji: left}).items() if by}, burst=burst)
        data = _data(message, emoji, user, burst=burst)
        world.tell(News("MESSAGE_REACTION_REMOVE", world.guild_of(channel), channel, data=data))


def count_reactions(world: World, channel: Channel, number: int, emoji: str, wanted: int, *, burst: bool) -> None:
    """People react, or take their reaction back, until so many of them have it; each is an event of its own."""
    message = world.message(channel, number)
    users = (message.bursts if burst else message.reactions).get(emoji, [])
    for user in users[wanted:]:
        remove_reaction(world, channel, number, emoji, user, burst=burst)
    others = (one for one in world.crowd(wanted + len(users)) if one not in set(users))
    for user, _ in zip(others, range(wanted - len(users)), strict=False):
        add_reaction(world, channel, number, emoji, user, burst=burst)


def clear_reactions(world: World, channel: Channel, number: int, emoji: str = "") -> None:
    """A user with the right to do so removes all reactions from a message, or those with one emoji."""
    message = world.message(channel, number)
    data: dict[str, Any] = {"message_id": str(number)}
    if emoji:
        reactions = {one: by for one, by in message.reactions.items() if one != emoji}
        bursts = {one: by for one, by in message.bursts.items() if one != emoji}
        channel.history.put(replace(message, reactions=reactions, bursts=bursts))
        data["emoji"] = emoji_shape(emoji)
    else:
        channel.history.put(replace(message, reactions={}, bursts={}))
    name = "MESSAGE_REACTION_REMOVE_EMOJI" if emoji else "MESSAGE_REACTION_REMOVE_ALL"
    world.tell(News(name, world.guild_of(channel), channel, data=data))


def _set(channel: Channel, message: Message, held: dict[str, list[int]], *, burst: bool) -> None:
    channel.history.put(replace(message, bursts=held) if burst else replace(message, reactions=held))


def _data(message: Message, emoji: str, user: int, *, burst: bool) -> dict[str, Any]:
    return {
        "user_id": str(user),
        "message_id": str(message.id),
        "message_author_id": str(message.author),
        "emoji": emoji_shape(emoji),
        "burst": burst,
        "type": int(burst),
    }
