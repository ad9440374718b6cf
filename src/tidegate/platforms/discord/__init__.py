"""Discord, through discord.py's session and gateway; bots only."""

from tidegate.platforms.discord.opening import FindLoopback, discord_opener
from tidegate.platforms.discord.signing_in import Questions, sign_in

__all__ = ["FindLoopback", "Questions", "discord_opener", "sign_in"]
