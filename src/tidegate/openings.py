"""How accounts of each platform are signed in and connected; beside the command line, only here is one named.

It stands apart from ``app`` because the platforms' libraries take longer to load than most commands take to run.
"""

from __future__ import annotations

from typing import Protocol

from tidegate.clock import Clock, SystemClock
from tidegate.platforms import discord, telegram
from tidegate.platforms.discord import discord_opener
from tidegate.platforms.telegram import Application, telegram_opener
from tidegate.port import Me, NoteConnect, Opener, Vault
from tidegate.settings import Settings
from tidegate.words import Account, Platform


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


class Person(telegram.Questions, discord.Questions, Protocol):
    """Whoever signs an account in, at a terminal or on a page: asked for what its platform wants to know."""


async def sign_in(
    settings: Settings, account: Account, vault: Vault, note_connect: NoteConnect, person: Person
) -> Me | None:
    """Sign an account in and keep its sign-in in *vault*; None where the platform is not asked."""
    if account.platform is Platform.TELEGRAM:
        application = telegram_application(settings)
        return await telegram.sign_in(account, vault, note_connect, person, application=application)
    if account.platform is Platform.DISCORD:
        return await discord.sign_in(account, vault, note_connect, person, clock=SystemClock())
    return None
