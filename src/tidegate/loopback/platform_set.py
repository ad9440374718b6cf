"""The stand-in platforms of one process: made from their worlds, stored, and served together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tidegate.core.clock import Clock
from tidegate.loopback.discord import DiscordServer
from tidegate.loopback.discord.control import names as discord_names
from tidegate.loopback.discord.world import world_snapshot as discord_keeping
from tidegate.loopback.faults import Faults
from tidegate.loopback.telegram import TelegramServer
from tidegate.loopback.telegram.world import world_snapshot as telegram_keeping
from tidegate.loopback.whatsapp import WhatsAppServer
from tidegate.loopback.whatsapp import world_snapshot as whatsapp_keeping
from tidegate.loopback.whatsapp.control import names as whatsapp_names
from tidegate.loopback.world_document import Loaded, WorldSpec, make_worlds


@dataclass(frozen=True, slots=True)
class Platforms:
    """One of each."""

    telegram: TelegramServer
    discord: DiscordServer
    whatsapp: WhatsAppServer

    @classmethod
    def of(cls, worlds: Loaded, clock: Clock, *, latency: timedelta = timedelta()) -> Platforms:
        """Platforms for these worlds, each on the port that goes with it."""
        (telegram, first), (discord, second), (whatsapp, third) = worlds
        return cls(
            TelegramServer(telegram, clock, latency=latency, port=first),
            DiscordServer(discord, clock, latency=latency, port=second),
            WhatsAppServer(whatsapp, clock, latency=latency, port=third),
        )

    @property
    def addresses(self) -> dict[str, str]:
        return {name: server.address for name, server in self._servers.items()}

    @property
    def records(self) -> dict[str, Any]:
        """The record of each platform, in its current world."""
        return {name: server.world.record for name, server in self._servers.items()}

    @property
    def faults(self) -> dict[str, Faults]:
        return {name: server.world.faults for name, server in self._servers.items()}

    @property
    def _servers(self) -> dict[str, Any]:
        return {"telegram": self.telegram, "discord": self.discord, "whatsapp": self.whatsapp}

    @property
    def version(self) -> object:
        """A value that changes whenever there is something new to store."""
        return [(server.world, server.world.revision) for server in self._servers.values()]

    def as_plain(self) -> dict[str, Any]:
        """Their worlds as they are stored in a file."""
        return {
            "telegram": telegram_keeping.to_plain(self.telegram.world, self.telegram.port),
            "discord": discord_keeping.to_plain(self.discord.world, self.discord.port),
            "whatsapp": whatsapp_keeping.to_plain(self.whatsapp.world, self.whatsapp.port),
        }

    def replace(self, spec: WorldSpec) -> dict[str, Any]:
        """Serve another world on all platforms; returns the ids of what it was made with."""
        (telegram, _), (discord, _), (whatsapp, _) = make_worlds(spec, self.telegram.clock)
        self.telegram.replace_world(telegram)
        self.discord.replace_world(discord)
        self.whatsapp.replace_world(whatsapp)
        channels = {channel.title: channel.id for channel in telegram.channels.values()}
        return {"channels": channels, "discord": discord_names(discord), "whatsapp": whatsapp_names(whatsapp)}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve all of them for as long as the block lasts."""
        async with AsyncExitStack() as stack:
            for server in self._servers.values():
                await server.start()
                stack.push_async_callback(server.close)
            yield
