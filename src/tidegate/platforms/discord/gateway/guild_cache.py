"""What an account knows about its guilds: channels, threads, heads and permissions. No waiting, no calls.

Filled by gateway events, or by answers to our own calls where there is no gateway. The cache of discord.py is not used:
it fails on unexpected events, and has no heads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tidegate.core.ids import ChannelId, GuildId, MessageId
from tidegate.platforms.discord.messages.avatars import avatar_of
from tidegate.platforms.discord.messages.json_values import text_in
from tidegate.platforms.discord.messages.raw_fields import NameOf, no_names
from tidegate.platforms.discord.permissions import EVERYTHING, NOTHING, ChannelPermissions, Json, in_channel, in_guild
from tidegate.platforms.discord.translation import THREADS, channel_of, head_of, holds_messages, largest_file_in
from tidegate.platforms.interface import Channel, ChannelKind, Head

Heads = dict[ChannelId, Head]


@dataclass(slots=True)
class CachedGuild:
    """One guild as last received. *mine* are the account's roles, None until they are known."""

    id: str
    title: str = ""
    icon: str = ""
    owner: str = ""
    roles: dict[str, Json] = field(default_factory=dict)
    mine: frozenset[str] | None = None
    channels: dict[str, Json] = field(default_factory=dict)
    largest_file: int | None = None

    def name(self, written: str) -> str:
        """The name of a channel (``<#5>``) or a role (``<@&5>``); empty where there is none."""
        found = self.channels.get(written[2:-1]) if written.startswith("<#") else self.roles.get(written[3:-1])
        return text_in((found or {}).get("name"))


class GuildCache:
    """All guilds of one account, and its chats with single people."""

    def __init__(self) -> None:
        self.me = ""
        self._guilds: dict[str, CachedGuild] = {}
        self._places: dict[ChannelId, str] = {}  # the guild of each channel
        self._heads: Heads = {}

    # Reading the cache

    @property
    def guilds(self) -> list[GuildId]:
        return [GuildId(int(number)) for number in self._guilds]

    def heads(self, guild: str | None = None) -> Heads:
        """The heads of all channels, or of those of one guild."""
        if guild is None:
            return dict(self._heads)
        known = self._guilds.get(guild)
        numbers = (ChannelId(int(number)) for number in known.channels) if known else ()
        return {number: self._heads[number] for number in numbers if number in self._heads}

    def head(self, channel: ChannelId) -> Head | None:
        return self._heads.get(channel)

    def guild_of(self, channel: ChannelId) -> str | None:
        return self._places.get(channel)

    def names_in(self, channel: ChannelId, guild: str | None = None) -> NameOf:
        """The names of channels and roles as messages in this channel mention them."""
        known = self._guilds.get(self._places.get(channel) or guild or "")
        return no_names if known is None else known.name

    def knows_rights(self, guild: str) -> bool:
        """Whether the account's roles in a guild are known; without them no permission is proven."""
        return guild in self._guilds and self._guilds[guild].mine is not None

    # Updating the cache

    def begin(self, me: str, guilds: Iterable[str]) -> None:
        """A new session: nothing known about guilds is certain any more, and nothing about chats."""
        self.me = me
        self._heads = {number: head for number, head in self._heads.items() if number in self._places}
        for number in list(self._guilds):
            self.forget_guild(number)
        self._guilds = {number: CachedGuild(number) for number in guilds}

    def take_guild(self, event: Json) -> Heads:
        """Store a guild's name, owner, roles and boosts, and the rest of the event: our own roles, channels, threads.

        Returns the channels whose visibility, permissions or guild's name changed.
        """
        guild = self._guilds.setdefault(event["id"], CachedGuild(event["id"]))
        guild.title = text_in(event.get("name")) or guild.title
        guild.icon = text_in(event.get("icon"))
        guild.owner = event.get("owner_id") or guild.owner
        guild.roles = {one["id"]: one for one in event.get("roles") or guild.roles.values()}
        guild.largest_file = largest_file_in(event) or guild.largest_file
        for member in event.get("members") or ():
            if member["user"]["id"] == self.me:
                guild.mine = frozenset(member["roles"])
        channels = {one["id"]: one for one in (*(event.get("channels") or ()), *(event.get("threads") or ()))}
        guild.channels.update(channels)
        return {**self._shown_again(guild, guild.channels), **self._work_out(guild, channels.values())}

    def take_title(self, guild: str, title: str) -> None:
        """Store the name of a guild, as a list of guilds has it."""
        known = self._guilds.setdefault(guild, CachedGuild(guild))
        known.title = title or known.title
        self._shown_again(known, known.channels)

    def take_role(self, guild: str, role: Json) -> Heads:
        """Store a new or changed role; returns the channels whose permissions that changes."""
        known = self._guilds.setdefault(guild, CachedGuild(guild))
        known.roles[role["id"]] = role
        return self._shown_again(known, known.channels)

    def lose_role(self, guild: str, role: str) -> Heads:
        """Remove a role; returns the channels whose permissions that changes."""
        known = self._guilds.setdefault(guild, CachedGuild(guild))
        known.roles.pop(role, None)
        known.mine = known.mine - {role} if known.mine is not None else None
        return self._shown_again(known, known.channels)

    def take_my_roles(self, guild: str, roles: Iterable[str]) -> Heads:
        """Store the account's roles in a guild; returns the channels whose permissions that changes."""
        known = self._guilds.setdefault(guild, CachedGuild(guild))
        known.mine = frozenset(roles)
        return self._shown_again(known, known.channels)

    def take_channels(self, guild: str, channels: Iterable[Json]) -> Heads:
        """Store channels or threads; returns them, and the threads under them whose permissions changed."""
        known = self._guilds.setdefault(guild, CachedGuild(guild))
        found = {one["id"]: one for one in channels}
        known.channels.update(found)
        below = [number for number, raw in known.channels.items() if raw.get("parent_id") in found]
        return {**self._shown_again(known, below), **self._work_out(known, found.values())}

    def take_chat(self, channel: ChannelId, other: Json, newest: int | None = None) -> Head:
        """A chat with one person: no list has it, so it is known once a message was posted in it, or it was asked for.

        Every message above *newest* will arrive.
        """
        raw = {"id": str(channel), "type": 1, "recipients": [other] if other.get("id") != self.me else []}
        raw["last_message_id"] = newest
        self._heads[channel] = head_of(raw, channel_of(raw, EVERYTHING))
        return self._heads[channel]

    def take_answer(self, raw: Json) -> Head:
        """A chat with one person as Discord itself describes it."""
        other: Json = next(iter(raw.get("recipients") or ()), {})
        newest = raw.get("last_message_id")
        return self.take_chat(ChannelId(int(raw["id"])), other, int(newest) if newest else None)

    def hide(self, channel: ChannelId) -> None:
        """Mark a channel as not visible, whatever the roles say; the next change of permissions decides again."""
        if (head := self._heads.get(channel)) is not None and head.channel is not None:
            hidden = replace(head.channel, visible=False, readable=False, may_post=False)
            self._heads[channel] = replace(head, channel=hidden)

    def lose_channel(self, channel: ChannelId) -> list[ChannelId]:
        """Remove a channel and its threads."""
        guild = self._guilds.get(self._places.get(channel, ""))
        if guild is None:
            return [channel] if self._heads.pop(channel, None) else []
        gone = [number for number, raw in guild.channels.items() if str(channel) in (number, raw.get("parent_id"))]
        return [self._drop(guild, number) for number in gone]

    def forget_guild(self, guild: str) -> list[ChannelId]:
        """Remove a guild; returns its channels."""
        known = self._guilds.pop(guild, None)
        return [] if known is None else [self._drop(known, number) for number in list(known.channels)]

    def threads_of(self, guild: str, parents: Iterable[str] | None) -> list[ChannelId]:
        """The known threads under these channels, or under all of a guild."""
        within = None if parents is None else set(parents)
        return [
            ChannelId(int(number))
            for number, raw in self._guilds[guild].channels.items()
            if raw["type"] in THREADS and (within is None or raw.get("parent_id") in within)
        ]

    def note_posted(self, channel: ChannelId, message: MessageId) -> None:
        """A message was posted: the channel's head is now at least that."""
        if (head := self._heads.get(channel)) is not None:
            newest = max(head.newest or message, message)
            more = int(int(message) != int(channel))  # Discord does not count the message that a thread began with
            self._heads[channel] = replace(
                head, newest=newest, messages=_plus(head.messages, more), posted=_plus(head.posted, more)
            )

    def note_thread(self, thread: ChannelId, parent: str | None) -> None:
        """A thread was created: the newest thread is the head of a board."""
        number = ChannelId(int(parent or 0))
        head = self._heads.get(number)
        if head is not None and head.channel is not None and head.channel.kind is ChannelKind.BOARD:
            self._heads[number] = replace(head, newest=MessageId(max(head.newest or 0, thread)))

    def note_deleted(self, channel: ChannelId, count: int) -> None:
        if (head := self._heads.get(channel)) is not None:
            self._heads[channel] = replace(head, messages=_plus(head.messages, -count))

    # Permissions and heads

    def _work_out(self, guild: CachedGuild, channels: Iterable[Json]) -> Heads:
        """Compute the heads of channels that were just received; a head never moves back."""
        base = self._base(guild)
        found: Heads = {}
        for raw in channels:
            if not holds_messages(raw):
                continue
            number = ChannelId(int(raw["id"]))
            head = head_of(raw, self._channel(guild, raw, base))
            known = self._heads.get(number)
            newest = max((one.newest for one in (head, known) if one and one.newest), default=None)
            found[number] = replace(head, newest=newest)
            self._places[number] = guild.id
        self._heads.update(found)
        return found

    def _shown_again(self, guild: CachedGuild, numbers: Iterable[str]) -> Heads:
        """Compute the permissions in channels again; returns the channels where they changed."""
        base = self._base(guild)
        changed: Heads = {}
        for raw in (guild.channels[number] for number in numbers):
            head = self._heads.get(ChannelId(int(raw["id"])))
            if head is None or head.channel is None:
                continue
            channel = self._channel(guild, raw, base)
            if channel != head.channel:
                changed[channel.id] = replace(head, channel=channel)
        self._heads.update(changed)
        return changed

    def _channel(self, guild: CachedGuild, raw: Json, base: Any) -> Channel:
        rights = self._rights(guild, raw, base)
        channel = channel_of(raw, rights, guild=guild.id, server=guild.title, largest_file=guild.largest_file)
        return replace(channel, avatar=avatar_of("icons", int(guild.id), guild.icon))

    def _base(self, guild: CachedGuild) -> Any:
        if guild.mine is None:
            return None
        return in_guild(guild.roles.values(), guild.mine, guild=guild.id, owner=guild.owner == self.me)

    def _rights(self, guild: CachedGuild, raw: Json, base: Any = None) -> ChannelPermissions:
        """A thread uses its parent's overwrites; where our roles are not known, nothing is proven."""
        base = self._base(guild) if base is None else base
        if base is None or guild.mine is None:
            return NOTHING
        kind = int(raw["type"])
        ruling: Mapping[str, Any] | None = guild.channels.get(str(raw.get("parent_id"))) if kind in THREADS else raw
        if ruling is None:
            return NOTHING
        overwrites = ruling.get("permission_overwrites") or ()
        return ChannelPermissions.of(in_channel(base, overwrites, guild.mine, guild=guild.id, me=self.me), kind)

    def _drop(self, guild: CachedGuild, number: str) -> ChannelId:
        guild.channels.pop(number, None)
        channel = ChannelId(int(number))
        self._heads.pop(channel, None)
        self._places.pop(channel, None)
        return channel


def _plus(count: int | None, more: int) -> int | None:
    return None if count is None else max(0, count + more)
