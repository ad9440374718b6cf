"""discord.py's client, set up so that it only speaks the gateway's protocol: what it hears goes to us, raw.

It keeps no messages, members or guilds in memory, does not reconnect, and asks for nothing by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import discord
from discord.gateway import DiscordWebSocket
from yarl import URL

from tidegate.platforms.discord.rest import Rest
from tidegate.platforms.discord.rights import Json

INTENTS = discord.Intents(
    guilds=True,
    guild_messages=True,
    dm_messages=True,
    guild_reactions=True,
    dm_reactions=True,
    message_content=True,
)

OnEvent = Callable[[str, Json], None]

# Said once a process, about calls nobody makes here.
discord.VoiceClient.warn_nacl = False
discord.VoiceClient.warn_dave = False


class Line(discord.Client):
    """Makes connections to the gateway; *on_event* is told every event by its name."""

    def __init__(self, rest: Rest, on_event: OnEvent) -> None:
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
        """Connect, and resume *session* after *sequence* or begin a new one; nothing has been heard yet."""
        await self._async_setup_hook()
        return await DiscordWebSocket.from_client(
            self, gateway=gateway, session=session, sequence=sequence, resume=session is not None
        )

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Nothing: when a new session may begin is decided where connections are made."""

    def _hold(self, socket: DiscordWebSocket) -> None:
        """Known from the moment it is open, so that one that never came to anything is closed as well."""
        self.socket = socket


class _Raw(dict[str, Callable[[Any], Any]]):
    """For every event there is, a parser that does nothing but pass it on."""

    def __init__(self, on_event: OnEvent) -> None:
        super().__init__()
        self._on_event = on_event

    def __missing__(self, event: str) -> Callable[[Any], Any]:
        return partial(self._on_event, event)
