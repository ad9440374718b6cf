"""Proving that history may be read, where an empty page leaves it open."""

from __future__ import annotations

from discord.http import Route

from tidegate.platforms.discord.book import Book
from tidegate.platforms.discord.rest import Rest
from tidegate.platforms.discord.translate import THREADS
from tidegate.port import ChannelId


class Proving:
    """Asks Discord itself what the account may do; these calls are counted with connecting, and are few."""

    def __init__(self, rest: Rest, book: Book) -> None:
        self._rest = rest
        self._book = book

    async def may_read(self, channel: ChannelId) -> bool:
        """Whether the history of a channel may be read at this moment, by Discord's word and not by memory."""
        await self._look_up(channel)
        head = self._book.head(channel)
        return head is not None and head.channel is not None and head.channel.readable

    async def learn_rights(self, guild: str) -> None:
        """Bring the roles of a guild, and those of them the account has, up to date."""
        self._book.take_guild(await self._rest.request(Route("GET", "/guilds/{guild_id}", guild_id=guild)))
        route = Route("GET", "/guilds/{guild_id}/members/{user_id}", guild_id=guild, user_id=self._book.me)
        self._book.take_my_roles(guild, (await self._rest.request(route))["roles"])

    async def _look_up(self, channel: ChannelId) -> None:
        """Bring what is known of a channel up to date: itself, the roles, and of a thread the channel above it."""
        told = await self._rest.request(Route("GET", "/channels/{channel_id}", channel_id=channel))
        guild = told.get("guild_id") or self._book.guild_of(channel)
        if not guild:
            self._book.take_chat(channel, (told.get("recipients") or [{}])[0])
            return
        if int(told["type"]) in THREADS:
            await self._look_up(ChannelId(int(told["parent_id"])))
        else:
            await self.learn_rights(guild)
        self._book.take_channels(guild, [told])
