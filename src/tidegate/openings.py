"""How accounts of each platform are connected; the only place, beside the command line, that names a concrete platform.

It stands apart from ``app`` because the platforms' libraries take longer to load than most commands take to run.
"""

from __future__ import annotations

from tidegate.clock import Clock
from tidegate.platforms.discord import discord_opener
from tidegate.platforms.telegram import Application, telegram_opener
from tidegate.port import Opener
from tidegate.settings import Settings


def telegram_application(settings: Settings) -> Application | None:
    """The operator's registration with Telegram, when both halves of it are set."""
    if settings.telegram_api_id is None or settings.telegram_api_hash is None:
        return None
    return Application(settings.telegram_api_id, settings.telegram_api_hash.get_secret_value())


def telegram_opening(settings: Settings, clock: Clock) -> Opener:
    """How Telegram accounts are connected."""
    return telegram_opener(telegram_application(settings), clock)


def discord_opening(settings: Settings, clock: Clock) -> Opener:
    """How Discord bots are connected."""
    return discord_opener(clock, live=settings.discord_live)
