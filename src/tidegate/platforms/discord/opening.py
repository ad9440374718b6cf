"""Connecting bots to Discord, or to a loopback Discord on this machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from discord import ApplicationFlags
from discord.http import Route

from tidegate.clock import Clock
from tidegate.errors import BadInput, PlatformError, SignedOut
from tidegate.platforms import control as control_of
from tidegate.platforms.discord.book import Book
from tidegate.platforms.discord.client import DiscordAccount
from tidegate.platforms.discord.hearing import Hearing
from tidegate.platforms.discord.rest import Rest
from tidegate.platforms.discord.rights import Json
from tidegate.platforms.discord.translate import me_of
from tidegate.platforms.discord.troubles import INTENTS_MISSING, NOT_A_BOT
from tidegate.platforms.discord.wire import Wire
from tidegate.port import NoteConnect, Opener, Vault
from tidegate.words import Account, Platform

SIGN_IN = "discord.sign-in"

FindLoopback = Callable[[str], Awaitable[str]]
"""Finds where the loopback Discord behind a control address is, as in ``http://127.0.0.1:PORT``."""

_API = "/api/v10"
_GUILDS = 200


def discord_opener(clock: Clock, *, live: bool = True, find_loopback: FindLoopback | None = None) -> Opener:
    """Connects bots that are signed in; without *live* they do not listen, and everything is asked for."""

    async def connect(account: Account, vault: Vault, note_connect: NoteConnect) -> DiscordAccount:
        token = await vault.read(SIGN_IN)
        if token is None:
            raise SignedOut(f'Account "{account.name}" is not signed in to Discord.')
        rest = await door(account, clock, note_connect, find_loopback or ask_control)
        hearing = Hearing(Book())
        wire = Wire(rest, hearing, clock, note_connect) if live else None
        try:
            me = await introduce(rest, token.decode())
            if wire is not None:
                await wire.open()
            else:
                hearing.book.begin(me["id"], await _my_guilds(rest))
        except BaseException:
            if wire is not None:
                await wire.close()
            await rest.close()
            raise
        return DiscordAccount(rest, hearing, wire, me_of(me))

    return connect


async def door(account: Account, clock: Clock, note_connect: NoteConnect, find_loopback: FindLoopback) -> Rest:
    """The way to an account's Discord: the real one, or the loopback one it was added with."""
    if account.loopback is None:
        return Rest(clock, note_connect)
    address = await find_loopback(account.loopback)
    if not address.startswith("http://127.0.0.1:"):
        raise BadInput(f"{address} is no loopback Discord: those listen on 127.0.0.1.")
    return Rest(clock, note_connect, base=address.rstrip("/") + _API)


async def introduce(rest: Rest, token: str) -> Json:
    """Show the token; who it belongs to. Raises unless that is a bot that may read what messages say."""
    me: Json = dict(await rest.static_login(token))
    if not me.get("bot"):
        raise SignedOut(NOT_A_BOT)
    application: Any = await rest.request(Route("GET", "/applications/@me"))
    flags = ApplicationFlags._from_value(int(application.get("flags") or 0))
    if not (flags.gateway_message_content or flags.gateway_message_content_limited):
        raise PlatformError(INTENTS_MISSING)
    return me


async def _my_guilds(rest: Rest) -> list[str]:
    """Which guilds the bot is in; with a gateway they are told."""
    found: list[str] = []
    while True:
        after = {"after": found[-1]} if found else {}
        page = await rest.request(Route("GET", "/users/@me/guilds"), params={"limit": _GUILDS, **after})
        found += sorted((one["id"] for one in page), key=int)
        if len(page) < _GUILDS:
            return found


async def ask_control(control: str) -> str:
    """Ask a loopback process where its Discord is."""
    return await control_of.where(control, Platform.DISCORD)
