"""A platform whose channels live in guilds, which may have told of them, and which meters its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.small_platform import SmallPlatform
from tidegate.core.errors import ChannelGone
from tidegate.core.ids import ChannelId, GuildId, MessageId
from tidegate.platforms.interface import Channel, ChannelKind, ChannelPage, Cursor, GuildPage, Head, HistoryPage


@dataclass
class GuildPlatform(SmallPlatform):
    """Every guild *g* has the channel ``g + 1`` and in it the thread ``g + 2``; *lost* ones threw the account out."""

    numbers: list[GuildId] = field(default_factory=lambda: [GuildId(100), GuildId(200)])
    lost: set[GuildId] = field(default_factory=set)
    certain: Mapping[ChannelId, Head] | None = None
    refused_until: dict[ChannelId | None, float] = field(default_factory=dict)

    def method(self, verb: str) -> str:
        return f"guild.{verb}"

    def known_guilds(self) -> Sequence[GuildId]:
        return self.numbers

    def known_heads(self) -> Mapping[ChannelId, Head] | None:
        return self.certain

    def refused_for(self, method: str, channel: ChannelId | None) -> float:
        return max(0.0, self.refused_until.get(channel, 0.0) - self.clock.ticks())

    async def guilds(self, after: Cursor | None) -> GuildPage:
        await self._take("guilds", None)
        return GuildPage(guilds={number: f"Guild {number}" for number in self.numbers}, next=None)

    async def guild_channels(self, guild: GuildId) -> Mapping[ChannelId, Head]:
        await self._take("guild_channels", None)
        if guild in self.lost:
            raise ChannelGone("The account is no longer in this guild.")
        number = ChannelId(guild + 1)
        return {number: Head(MessageId(guild + 9), None, Channel(number, "general", guild=guild))}

    async def guild_threads(self, guild: GuildId) -> Mapping[ChannelId, Head]:
        await self._take("guild_threads", None)
        number = ChannelId(guild + 2)
        thread = Channel(number, "a thread", guild=guild, kind=ChannelKind.THREAD, parent=ChannelId(guild + 1))
        return {number: Head(MessageId(guild + 8), None, thread)}

    async def archived_threads(self, parent: ChannelId, *, private: bool, after: Cursor | None) -> ChannelPage:
        await self._take("archived_private_threads" if private else "archived_threads", parent)
        return ChannelPage(heads={}, next=None)

    async def page_after(self, channel: ChannelId, *, after: MessageId) -> HistoryPage:
        await self._take("page_after", channel)
        return HistoryPage(messages=(), reached_start=False, reached_head=True)
