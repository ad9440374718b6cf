"""Discord on 127.0.0.1: REST and gateway for unmodified clients, over a world that holds the platform's own data."""

from tidegate.loopback.discord.server import DiscordServer
from tidegate.loopback.discord.world.world import World

__all__ = ["DiscordServer", "World"]
