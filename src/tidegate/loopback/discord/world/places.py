"""People, guilds, channels and threads as the platform holds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Annotated, Any

from tidegate.loopback.discord.world.history import IN_ORDER, History, Message
from tidegate.loopback.discord.world.permissions import EVERYTHING, USUAL, Overwrite, Permission, effective

HAS_THREAD = 1 << 5
"""The flag of a message that a thread was started from."""

PRIVILEGED = ("message_content", "guild_members", "guild_presences")
"""Intents that Discord gives only to a bot for which a person has switched them on."""


class ChannelKind(IntEnum):
    """What a channel is, by Discord's number."""

    TEXT = 0
    DM = 1
    VOICE = 2
    CATEGORY = 4
    NEWS = 5
    NEWS_THREAD = 10
    PUBLIC_THREAD = 11
    PRIVATE_THREAD = 12
    STAGE = 13
    FORUM = 15
    MEDIA = 16


THREADS = frozenset({ChannelKind.NEWS_THREAD, ChannelKind.PUBLIC_THREAD, ChannelKind.PRIVATE_THREAD})
FORUMS = frozenset({ChannelKind.FORUM, ChannelKind.MEDIA})
SILENT = FORUMS | {ChannelKind.CATEGORY}
"""Channels that hold no messages themselves."""


@dataclass(slots=True)
class User:
    """A person, a webhook, or the person that a bot is. *fields* are their profile, in Discord's spelling.

    *name* stays what the world calls them, also after they renamed themselves or left Discord.
    """

    id: int
    name: str
    fields: dict[str, Any] = field(default_factory=dict)
    deleted: bool = False


@dataclass(slots=True)
class Bot(User):
    """An account: what Tidegate signs in as. *tokens* counts how often its token was renewed."""

    switched_on: Annotated[set[str], IN_ORDER] = field(default_factory=lambda: set(PRIVILEGED))
    tokens: int = 1


@dataclass(slots=True)
class Role:
    """A role of a guild; the one with the guild's own id is everyone's."""

    id: int
    name: str
    permissions: Permission = USUAL


@dataclass(slots=True)
class Member:
    """A bot in a guild."""

    roles: list[int] = field(default_factory=list)
    timed_out_until: datetime | None = None


@dataclass(slots=True)
class Guild:
    """A guild, which Discord's users call a server."""

    id: int
    name: str
    owner: int
    roles: dict[int, Role] = field(default_factory=dict)
    members: dict[int, Member] = field(default_factory=dict)  # the bots in it; people are everywhere
    unavailable: bool = False
    premium_tier: int = 0  # how far its members have boosted it, from 0 to 3
    nicks: dict[int, str] = field(default_factory=dict)  # names that hold only here
    icon: str | None = None


@dataclass(slots=True)
class Thread:
    """What a thread has beyond a channel."""

    owner: int
    archived: bool
    archive_changed_at: datetime
    locked: bool = False
    sent: int = 0  # how many messages it ever got
    members: Annotated[set[int], IN_ORDER] = field(default_factory=set)  # they matter in a private one
    miscounted: int = 0  # by how much the platform's count of messages is wrong


@dataclass(slots=True)
class Channel:
    """A channel, thread or conversation."""

    id: int
    kind: ChannelKind
    name: str
    guild: int = 0  # 0 for a conversation
    parent: int = 0
    position: int = 0
    topic: str = ""
    overwrites: list[Overwrite] = field(default_factory=list)
    history: History = field(default_factory=History)
    head: int = 0  # the newest id ever posted; of a forum that of its newest thread
    pinned_at: datetime | None = None  # the last time somebody pinned a message here
    between: tuple[int, int] = (0, 0)  # a conversation's bot and person
    thread: Thread | None = None

    @property
    def starter(self) -> Message | None:
        """A forum post's first message, which has the thread's own id; it does not count among the messages."""
        return self.history.get(self.id)


def may(guild: Guild, channel: Channel, bot: int, now: datetime) -> Permission:
    """What *bot* may do in *channel*, which is a thread's parent where a thread is meant."""
    member = guild.members.get(bot)
    if member is None:
        return Permission(0)
    if guild.owner == bot:
        return EVERYTHING
    roles = [guild.id, *member.roles]
    granted = Permission(0)
    for number in roles:
        granted |= guild.roles[number].permissions
    timed_out = member.timed_out_until is not None and member.timed_out_until > now
    return effective(granted, channel.overwrites, everyone=guild.id, roles=roles, member=bot, timed_out=timed_out)
