"""Starting, joining and deleting threads and channels, with their messages and events."""

from __future__ import annotations

from dataclasses import replace

from tidegate.core.errors import BadInput
from tidegate.loopback.discord import json_shapes
from tidegate.loopback.discord.world.history import Message
from tidegate.loopback.discord.world.news import News
from tidegate.loopback.discord.world.places import FORUMS, HAS_THREAD, Bot, Channel, ChannelKind, Thread
from tidegate.loopback.discord.world.world import World

THREAD_CREATED, THREAD_STARTER = 18, 21
"""Kinds of messages: the parent's that a thread was made, and the first of a thread that was made from a message."""

_PARENTS = FORUMS | {ChannelKind.TEXT, ChannelKind.NEWS}


def start(
    world: World,
    parent: Channel,
    name: str,
    *,
    text: str = "",
    author: int = 0,
    from_message: int = 0,
    private: bool = False,
) -> Channel:
    """A user starts a thread: a forum post with its first message, or a thread with or without a starting message.

    A forum post's first message and a message that a thread is started from share their id with the thread.
    """
    if parent.kind not in _PARENTS or (private and parent.kind is not ChannelKind.TEXT):
        raise BadInput(f"No such thread can be started in {parent.name}.")
    if from_message in world.channels:
        raise BadInput(f"A thread was started from message {from_message} already.")
    origin = world.message(parent, from_message) if from_message else None
    owner = author or next(iter(world.people))
    thread = Channel(origin.id if origin else world.new_id(), _kind(parent, private=private), name)
    thread.guild, thread.parent = parent.guild, parent.id
    thread.thread = Thread(owner, archived=False, archive_changed_at=world.clock.now())
    world.channels[thread.id] = thread
    world.tell(News("THREAD_CREATE", world.guild_of(parent), thread, data={"newly_created": True}))
    if parent.kind in FORUMS:
        parent.head = thread.id
        world.append(thread, Message(thread.id, owner, text or name))
    elif origin:
        world.change_message(parent, replace(origin, flags=origin.flags | HAS_THREAD))
        reference = {"message_id": str(origin.id), "channel_id": str(parent.id), "guild_id": str(parent.guild)}
        world.post(thread, author=owner, kind=THREAD_STARTER, fields={"message_reference": reference})
    elif not private:
        reference = {"channel_id": str(thread.id), "guild_id": str(parent.guild)}
        fields = {"message_reference": reference}
        world.post(parent, name, author=owner, kind=THREAD_CREATED, flags=HAS_THREAD, fields=fields)
    if text and parent.kind not in FORUMS:
        world.post(thread, text, author=owner)
    return thread


def _kind(parent: Channel, *, private: bool) -> ChannelKind:
    if private:
        return ChannelKind.PRIVATE_THREAD
    return ChannelKind.NEWS_THREAD if parent.kind is ChannelKind.NEWS else ChannelKind.PUBLIC_THREAD


def join(world: World, thread: Channel, bot: Bot) -> None:
    """The bot becomes a member. A thread it could not see before reaches it as an event about an existing thread."""
    assert thread.thread is not None
    if bot.id not in thread.thread.members:
        thread.thread.members.add(bot.id)
        data = {"member": json_shapes.thread_member(thread, bot)}
        world.tell(News("THREAD_CREATE", world.guild_of(thread), thread, only=bot.id, data=data))


def delete(world: World, channel: Channel) -> None:
    """Delete a channel or thread with all its messages; a channel's threads are deleted without events of their own."""
    guild = world.guild_of(channel)
    name = "THREAD_DELETE" if channel.thread else "CHANNEL_DELETE"
    world.tell(News(name, guild, channel))
    for thread in list(world.threads_of(channel)):
        del world.channels[thread.id]
    del world.channels[channel.id]
