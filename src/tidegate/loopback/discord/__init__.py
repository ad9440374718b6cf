"""Discord on 127.0.0.1: REST and gateway for unmodified clients, over a world that keeps the platform's truth."""

from tidegate.loopback.discord.server import DiscordServer
from tidegate.loopback.discord.world import World

__all__ = ["DiscordServer", "World"]
