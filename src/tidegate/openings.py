"""How accounts of each platform are signed in and connected; beside the command line, only here is one named.

It stands apart from ``app`` because the platforms' libraries take longer to load than most commands take to run.
"""

from __future__ import annotations

from typing import Protocol

from tidegate.app import House, key_ring, whatsapp_sessions
from tidegate.clock import Clock, SystemClock
from tidegate.platforms import discord, telegram, whatsapp
from tidegate.platforms.discord import discord_opener
from tidegate.platforms.telegram import Application, telegram_opener
from tidegate.platforms.whatsapp import whatsapp_opener
from tidegate.port import Accept, Me, NoteConnect, Opener, Vault
from tidegate.settings import Settings
from tidegate.store.secrets import AccountVault
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


def whatsapp_opening(house: House, clock: Clock) -> Opener:
    """How WhatsApp accounts are connected; their processes end before a silent worker's accounts are taken over."""
    return whatsapp_opener(clock, whatsapp_sessions(house), silent_after=house.settings.time_out / 2)


class Person(telegram.Questions, discord.Questions, whatsapp.Questions, Protocol):
    """Whoever signs an account in, at a terminal or on a page: asked for what its platform wants to know."""


async def sign_in(
    house: House, account: Account, vault: Vault, note_connect: NoteConnect, person: Person, *, accept: Accept
) -> Me:
    """Sign an account in and keep its sign-in in *vault*, if whoever it is may be *accepted*."""
    if account.platform is Platform.TELEGRAM:
        application = telegram_application(house.settings)
        return await telegram.sign_in(account, vault, note_connect, person, application=application, accept=accept)
    if account.platform is Platform.DISCORD:
        return await discord.sign_in(account, vault, note_connect, person, clock=SystemClock(), accept=accept)
    sessions = whatsapp_sessions(house)
    return await whatsapp.sign_in(
        account, vault, note_connect, person, sessions=sessions, clock=SystemClock(), accept=accept
    )


async def forget_device(house: House, account: Account) -> None:
    """Remove what WhatsApp's library keeps of an account that is about to be removed."""
    if account.platform is not Platform.WHATSAPP or account.loopback is not None:
        return
    device = await AccountVault(house.database, await key_ring(house), account.id).read(whatsapp.DEVICE)
    if device is not None:
        await whatsapp_sessions(house).forget(device.decode())
