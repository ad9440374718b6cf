"""The platforms of this Tidegate. One is added by its facts, and by a function that makes its adapter.

Importing this loads no platform's library: those take longer to load than most commands take to run. The functions
load them when an account is to be connected or signed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tidegate.core import platform as known
from tidegate.core.clock import Clock
from tidegate.core.platform import Platform
from tidegate.core.process.memory import without
from tidegate.platforms.discord import DISCORD
from tidegate.platforms.telegram import TELEGRAM
from tidegate.platforms.whatsapp import WHATSAPP

if TYPE_CHECKING:
    from tidegate.app.composition import Runtime
    from tidegate.platforms.interface import Opener, PlatformAdapter

    MakeAdapter = Callable[[Runtime, Clock], PlatformAdapter]

_adapters: dict[Platform, MakeAdapter] = {}


def register(platform: Platform, make: MakeAdapter) -> None:
    """Make a platform known, and how its adapter is made from the operator's settings."""
    known.register(platform)
    _adapters[platform] = make


def platforms() -> tuple[Platform, ...]:
    """The platforms in the order they were registered."""
    return known.registered_platforms()


def adapter_of(platform: Platform, runtime: Runtime, clock: Clock) -> PlatformAdapter:
    """The adapter of a platform; this loads its library."""
    return _adapters[platform](runtime, clock)


def openers(runtime: Runtime, clock: Clock) -> Mapping[Platform, Opener]:
    """How accounts of every platform are connected."""
    return {platform: adapter_of(platform, runtime, clock).connect for platform in _adapters}


def _telegram(runtime: Runtime, clock: Clock) -> PlatformAdapter:
    with without("PIL", "sqlite3"):  # Telethon would shrink pictures with one, and keep sessions with the other
        from tidegate.platforms.telegram.adapter import TelegramAdapter

    settings = runtime.settings
    api_hash = settings.telegram_api_hash.get_secret_value() if settings.telegram_api_hash else None
    return TelegramAdapter(clock, api_id=settings.telegram_api_id, api_hash=api_hash)


def _discord(runtime: Runtime, clock: Clock) -> PlatformAdapter:
    from tidegate.platforms.discord.adapter import DiscordAdapter

    return DiscordAdapter(clock, live=runtime.settings.discord_live)


def _whatsapp(runtime: Runtime, clock: Clock) -> PlatformAdapter:
    from tidegate.accounts.queries.whatsapp_sessions import WhatsAppSessions
    from tidegate.app.composition import key_ring
    from tidegate.platforms.whatsapp.adapter import WhatsAppAdapter

    keys = WhatsAppSessions(runtime.database, lambda: key_ring(runtime))
    # Its processes end before the accounts of a silent worker are taken over.
    return WhatsAppAdapter(clock, keys, silent_after=runtime.settings.time_out / 2)


register(TELEGRAM, _telegram)
register(DISCORD, _discord)
register(WHATSAPP, _whatsapp)
