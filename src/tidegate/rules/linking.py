"""Where a message is on its own platform, as a link that a person's browser or app opens."""

from __future__ import annotations

from tidegate.words import Platform


def original_link(
    platform: Platform, channel: int, message: int, *, guild: int | None = None, topic: int | None = None
) -> str | None:
    """The link to a message; None where the platform has none.

    Telegram opens one of a channel for whoever is in it; a *topic* leads there by way of the topic. Discord needs the
    *guild*, and without one the channel is a private conversation.
    """
    if platform is Platform.TELEGRAM:
        way = f"{topic}/{message}" if topic is not None and topic > 1 else str(message)
        return f"https://t.me/c/{channel}/{way}"
    if platform is Platform.DISCORD:
        return f"https://discord.com/channels/{guild or '@me'}/{channel}/{message}"
    return None
