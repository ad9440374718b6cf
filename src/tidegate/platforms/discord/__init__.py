"""Discord, through discord.py's session and gateway; bots only."""

from tidegate.platforms.discord.platform import DISCORD

__all__ = ["DISCORD"]
