"""The proof that history may be read, needed when a page is empty or its messages are blank."""

from __future__ import annotations

from contextlib import suppress

from discord.http import Route

from tidegate.core.errors import ChannelGone, Halted
from tidegate.core.ids import ChannelId
from tidegate.platforms.discord.errors import INTENTS_MISSING
from tidegate.platforms.discord.gateway.guild_cache import GuildCache
from tidegate.platforms.discord.message_content_intent import reads_content
from tidegate.platforms.discord.rest import RestClient
from tidegate.platforms.discord.translation import THREADS


class HistoryProof:
    """Asks Discord itself for the account's permissions; these few calls are counted as connecting."""

    def __init__(self, rest: RestClient, guilds: GuildCache) -> None:
        self._rest = rest
        self._guilds = guilds

    async def may_read(self, channel: ChannelId) -> bool:
        """Whether the history of a channel may be read now, asked of Discord and not of the cache."""
        await self._look_up(channel)
        head = self._guilds.head(channel)
        return head is not None and head.channel is not None and head.channel.readable

    async def note_hidden(self, channel: ChannelId) -> None:
        """Discord no longer shows a channel: fetch the roles again, so that no later survey shows it from the cache."""
        guild = self._guilds.guild_of(channel)
        with suppress(ChannelGone):  # then the guild is hidden as well
            if guild is not None:
                await self.learn_rights(guild)
        self._guilds.hide(channel)

    async def require_content(self) -> None:
        """Stop the account when Discord hides message content; a person has to switch the intent on again."""
        if not reads_content(await self._rest.request(Route("GET", "/applications/@me"))):
            raise Halted(f"{INTENTS_MISSING} Nothing was stored meanwhile; what was missed is read after that.")

    async def learn_rights(self, guild: str) -> None:
        """Fetch the roles of a guild, and the account's own roles among them."""
        self._guilds.take_guild(await self._rest.request(Route("GET", "/guilds/{guild_id}", guild_id=guild)))
        route = Route("GET", "/guilds/{guild_id}/members/{user_id}", guild_id=guild, user_id=self._guilds.me)
        self._guilds.take_my_roles(guild, (await self._rest.request(route))["roles"])

    async def _look_up(self, channel: ChannelId) -> None:
        """Fetch a channel again: itself, the roles, and for a thread its parent channel."""
        answer = await self._rest.request(Route("GET", "/channels/{channel_id}", channel_id=channel))
        guild = answer.get("guild_id") or self._guilds.guild_of(channel)
        if not guild:
            self._guilds.take_answer(answer)
            return
        if int(answer["type"]) in THREADS:
            await self._look_up(ChannelId(int(answer["parent_id"])))
        else:
            await self.learn_rights(guild)
        self._guilds.take_channels(guild, [answer])
