"""discord.py's client, reduced to the gateway's protocol: events reach us as raw JSON.

It keeps no messages, members or guilds in memory, does not reconnect, and makes no calls of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import discord
from discord.gateway import DiscordWebSocket
from yarl import URL

from tidegate.platforms.discord.permissions import Json
from tidegate.platforms.discord.rest import RestClient

INTENTS = discord.Intents(
    guilds=True,
    guild_messages=True,
    dm_messages=True,
    guild_reactions=True,
    dm_reactions=True,
    guild_polls=True,
    dm_polls=True,
    message_content=True,
)

OnEvent = Callable[[str, Json], None]

# Logged once per process, about calls that are never made here.
discord.VoiceClient.warn_nacl = False
discord.VoiceClient.warn_dave = False


class RawGatewayClient(discord.Client):
    """Makes connections to the gateway; *on_event* gets every event with its name."""

    def __init__(self, rest: RestClient, on_event: OnEvent) -> None:
        super().__init__(
            intents=INTENTS,
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
        )
        self.http = self._connection.http = rest
        self._connection.parsers = _Raw(on_event)
        vars(self._connection)["_update_references"] = self._hold
        self.socket: DiscordWebSocket | None = None

    async def reach(self, gateway: URL, *, session: str | None, sequence: int | None) -> DiscordWebSocket:
        """Connect, and resume *session* after *sequence* or begin a new one; no event has arrived yet."""
        await self._async_setup_hook()
        return await DiscordWebSocket.from_client(
            self, gateway=gateway, session=session, sequence=sequence, resume=session is not None
        )

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Does nothing: the connection decides when a new session may begin."""

    def _hold(self, socket: DiscordWebSocket) -> None:
        """Keep the connection from the moment it is open, so that a failed one is closed as well."""
        self.socket = socket


class _Raw(dict[str, Callable[[Any], Any]]):
    """For every event name, a parser that only passes the event on."""

    def __init__(self, on_event: OnEvent) -> None:
        super().__init__()
        self._on_event = on_event

    def __missing__(self, event: str) -> Callable[[Any], Any]:
        return partial(self._on_event, event)
