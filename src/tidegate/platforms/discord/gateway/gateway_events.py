"""Translates gateway events into hints. Facts about channels go into the guild cache, the rest to the mirror.

Discord numbers all events of a session in one sequence, so they arrive complete until a session is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tidegate.core.ids import ChannelId, MessageId
from tidegate.platforms.discord.gateway.guild_cache import GuildCache, Heads
from tidegate.platforms.discord.gateway.message_events import MESSAGE_EVENTS
from tidegate.platforms.discord.message_content_intent import is_blank
from tidegate.platforms.discord.permissions import Json
from tidegate.platforms.interface import Head, UpdateHint, UpdateStream

_DM = 1


class GatewayEvents:
    """Reads one account's gateway events. *awaited* are guilds that the new session announced and has not sent yet."""

    def __init__(self, guilds: GuildCache) -> None:
        self.guilds = guilds
        self.awaited: set[str] = set()
        self.session = ""
        self._up_to_date = False

    # Whether the cache is up to date

    def known_heads(self) -> Mapping[ChannelId, Head] | None:
        return self.guilds.heads() if self._up_to_date else None

    def mark_complete(self) -> None:
        """All available guilds have been sent: the cache is up to date from now on."""
        self.awaited.clear()
        self._up_to_date = True

    def pause(self) -> UpdateHint:
        """The connection is lost, so the cache may be out of date."""
        self._up_to_date = False
        return UpdateHint(None, stream=UpdateStream.PAUSED)

    def begin_anew(self) -> list[UpdateHint]:
        """Updates were lost in this process: the stream starts again from the current head of every channel."""
        broken = UpdateHint(None, stream=UpdateStream.BROKEN)
        return [broken, UpdateHint(None, heads=self.guilds.heads(), stream=UpdateStream.BEGAN)]

    # Events

    def read(self, event: str, data: Json) -> list[UpdateHint]:
        """An event as hints; most events are ignored."""
        if event in MESSAGE_EVENTS:
            return self._message(event, data)
        handle = _TABLE.get(event)
        return list(handle(self, data)) if handle is not None else []

    def _message(self, event: str, data: Json) -> list[UpdateHint]:
        """A message that was posted, changed or deleted. One whose content Discord hides has to be read by a call."""
        channel = ChannelId(int(data["channel_id"]))
        if event == "MESSAGE_CREATE":
            return self._posted(channel, data)
        if event == "MESSAGE_UPDATE" and "content" in data and is_blank(data, self.guilds.me):
            return self.begin_anew()
        updates = MESSAGE_EVENTS[event](data, self.guilds.names_in(channel, data.get("guild_id")))
        if updates.deleted:
            self.guilds.note_deleted(channel, len(updates.deleted))
        return [UpdateHint(channel, updates)]

    def _posted(self, channel: ChannelId, data: Json) -> list[UpdateHint]:
        """A person's first message in a session also adds their chat to the cache; older ones may have been missed."""
        if is_blank(data, self.guilds.me):
            self.guilds.note_posted(channel, MessageId(int(data["id"])))
            return self.begin_anew()
        hints: list[UpdateHint] = []
        guild = data.get("guild_id")
        if not guild and self.guilds.head(channel) is None:
            head = self.guilds.take_chat(channel, data["author"], int(data["id"]) - 1)
            hints.append(UpdateHint(channel, heads={channel: head}))
        hints.append(UpdateHint(channel, MESSAGE_EVENTS["MESSAGE_CREATE"](data, self.guilds.names_in(channel, guild))))
        self.guilds.note_posted(channel, MessageId(int(data["id"])))
        return hints

    def _ready(self, data: Json) -> list[UpdateHint]:
        self.session = data["session_id"]
        self.awaited = {one["id"] for one in data["guilds"]}
        self._up_to_date = False
        self.guilds.begin(data["user"]["id"], self.awaited)
        return [UpdateHint(None, stream=UpdateStream.BROKEN)]

    def _resumed(self, _: Json) -> list[UpdateHint]:
        self._up_to_date = not self.awaited
        return [UpdateHint(None, stream=UpdateStream.RESUMED)]

    def _guild(self, data: Json) -> list[UpdateHint]:
        if data.get("unavailable"):
            return []
        self.guilds.forget_guild(data["id"])
        self.guilds.take_guild(data)
        self.awaited.discard(data["id"])
        return [UpdateHint(None, heads=self.guilds.heads(data["id"]), stream=UpdateStream.BEGAN)]

    def _guild_changed(self, data: Json) -> list[UpdateHint]:
        return _shown(self.guilds.take_guild(data))

    def _guild_lost(self, data: Json) -> list[UpdateHint]:
        """A guild in an outage comes back; one that removed the account does not."""
        channels = self.guilds.forget_guild(data["id"])
        self.awaited.discard(data["id"])
        return [] if data.get("unavailable") else [UpdateHint(channel, gone=True) for channel in channels]

    def _role(self, data: Json) -> list[UpdateHint]:
        return _shown(self.guilds.take_role(data["guild_id"], data["role"]))

    def _role_lost(self, data: Json) -> list[UpdateHint]:
        return _shown(self.guilds.lose_role(data["guild_id"], data["role_id"]))

    def _member(self, data: Json) -> list[UpdateHint]:
        if data["user"]["id"] != self.guilds.me:
            return []
        return _shown(self.guilds.take_my_roles(data["guild_id"], data["roles"]))

    def _channel(self, data: Json) -> list[UpdateHint]:
        if not data.get("guild_id"):
            return self._chat(data)
        heads = self.guilds.take_channels(data["guild_id"], [data])
        return [UpdateHint(number, heads={number: head}) for number, head in heads.items()]

    def _chat(self, data: Json) -> list[UpdateHint]:
        """A chat with one person was opened; groups of people are not for bots."""
        channel = ChannelId(int(data["id"]))
        if data.get("type") != _DM or self.guilds.head(channel) is not None:
            return []
        return [UpdateHint(channel, heads={channel: self.guilds.take_answer(data)})]

    def _thread_made(self, data: Json) -> list[UpdateHint]:
        self.guilds.note_thread(ChannelId(int(data["id"])), data.get("parent_id"))
        return self._channel(data)

    def _channel_lost(self, data: Json) -> list[UpdateHint]:
        return [UpdateHint(channel, gone=True) for channel in self.guilds.lose_channel(ChannelId(int(data["id"])))]

    def _threads_listed(self, data: Json) -> list[UpdateHint]:
        """All active threads of channels that became visible; the state of a known thread not among them is unknown."""
        guild = data["guild_id"]
        active = {ChannelId(int(one["id"])) for one in data["threads"]}
        for known in self.guilds.threads_of(guild, data.get("channel_ids")):
            if known not in active:
                self.guilds.lose_channel(known)
        heads = self.guilds.take_channels(guild, data["threads"])
        return [UpdateHint(number, heads={number: head}) for number, head in heads.items()]


def _shown(heads: Heads) -> list[UpdateHint]:
    return [UpdateHint(None, heads=heads)] if heads else []


_TABLE: Final[Mapping[str, Callable[[GatewayEvents, Json], Iterable[UpdateHint]]]] = {
    "READY": GatewayEvents._ready,
    "RESUMED": GatewayEvents._resumed,
    "GUILD_CREATE": GatewayEvents._guild,
    "GUILD_UPDATE": GatewayEvents._guild_changed,
    "GUILD_DELETE": GatewayEvents._guild_lost,
    "GUILD_ROLE_CREATE": GatewayEvents._role,
    "GUILD_ROLE_UPDATE": GatewayEvents._role,
    "GUILD_ROLE_DELETE": GatewayEvents._role_lost,
    "GUILD_MEMBER_UPDATE": GatewayEvents._member,
    "CHANNEL_CREATE": GatewayEvents._channel,
    "CHANNEL_UPDATE": GatewayEvents._channel,
    "CHANNEL_DELETE": GatewayEvents._channel_lost,
    "THREAD_CREATE": GatewayEvents._thread_made,
    "THREAD_UPDATE": GatewayEvents._channel,
    "THREAD_DELETE": GatewayEvents._channel_lost,
    "THREAD_LIST_SYNC": GatewayEvents._threads_listed,
}
